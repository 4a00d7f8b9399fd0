package extender_test

import (
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// committed is the record of a gang's start on its PodGroup.
const committed = "muster.dev/committed"

type startRecord struct {
	Members, MinMember int
	Time               time.Time
	Epoch              struct {
		Lease       time.Time
		Transitions int
	}
}

// record reads the record of a gang, false when there is none.
func (c *cluster) record(gang string) (startRecord, bool) {
	c.Helper()
	group, err := c.podGroups(workload.NewPodGroup(gang, 1)).Get(c.Context(), gang, metav1.GetOptions{})
	c.Must(err)
	text, is := group.GetAnnotations()[committed]
	var r startRecord
	if is {
		c.Must(json.Unmarshal([]byte(text), &r))
	}
	return r, is
}

func (c *cluster) writeRecord(gang string, r any) {
	c.Helper()
	text, err := json.Marshal(r)
	c.Must(err)
	annotation := any(string(text))
	if r == nil {
		annotation = nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{committed: annotation}}})
	c.Must(err)
	_, err = c.podGroups(workload.NewPodGroup(gang, 1)).Patch(c.Context(), gang, types.MergePatchType, patch, metav1.PatchOptions{})
	c.Must(err)
}

func TestAStaleLeaderStartsNoGangThatALaterOneHasLetGo(t *testing.T) {
	c := newCluster(t, workload.NewNodes("node", 2, "4")...)
	c.createPodGroups(workload.NewPodGroup("g", 2))
	group, err := c.podGroups(workload.NewPodGroup("g", 1)).Get(c.Context(), "g", metav1.GetOptions{})
	c.Must(err)
	c.writeRecord("g", map[string]any{
		"members": 2, "minMember": 2, "time": time.Now(), "podGroup": group.GetUID(),
		"epoch": map[string]any{"lease": time.Now().Add(time.Hour).UTC(), "transitions": 3},
	})
	w := c.serveAndSchedule(muster.Options{Text: slowElection}).watch()
	c.createPods(workload.NewMembers("g", 2, "3")...)
	c.awaitEvent(c.Pod("g-0").UID, "another replica of muster has taken over")
	if bound := w.everBound(); len(bound) > 0 {
		t.Errorf("pods are bound: %v", bound)
	}
	c.writeRecord("g", nil)
	w.settles(exactly(map[string]int{"g": 2}))
	if r, is := c.record("g"); !is || r.Members != 2 || r.MinMember != 2 || r.Epoch.Lease.IsZero() {
		t.Errorf("the record is %+v, there is one: %t", r, is)
	}
}
