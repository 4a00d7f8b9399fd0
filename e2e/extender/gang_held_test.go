package extender_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// held creates a gang of four that takes four of five nodes: muster holds three members while a door
// keeps the bind call about the last one.
func held(t *testing.T) (w *witness, d *door) {
	t.Helper()
	c := newCluster(t, workload.NewNodes("node", 5, "4")...)
	c.createPodGroups(workload.NewPodGroup("g", 4))
	s := c.serve(muster.Options{})
	w, d = s.watch(), s.shutFor("g-3")
	c.Schedule(s.schedulerConfig(nil, d.through))
	c.createPods(workload.NewMembers("g", 4, "3")...)
	s.awaitHeld("g", 3)
	return w, d
}

func TestAMemberDeletedWhileHeldIsReplaced(t *testing.T) {
	w, d := held(t)
	w.RemovePod("g-0")
	w.awaitHeld("g", 2)
	w.createPods(workload.NewPod("g-4", "3", workload.InGang("g")))
	w.awaitHeld("g", 3)
	d.open()
	w.settles(exactly(map[string]int{"g": 4}))
}

func TestMinMemberIsEditedWhileMembersAreHeld(t *testing.T) {
	t.Parallel()
	t.Run("to the number that is held", func(t *testing.T) {
		w, d := held(t)
		w.editPodGroup("g", 3)
		w.awaits(exactly(map[string]int{"g": 3}))
		d.open()
		w.settles(exactly(map[string]int{"g": 4}))
	})
	t.Run("to more than there are", func(t *testing.T) {
		w, d := held(t)
		w.editPodGroup("g", 5)
		w.Eventually("muster has seen it", func() error {
			stages, err := w.stages("g")
			if err == nil && stages.MinMember != 5 {
				err = fmt.Errorf("%+v", stages)
			}
			return err
		})
		d.open()
		w.awaitHeld("g", 4)
		w.createPods(workload.NewPod("g-4", "3", workload.InGang("g")))
		w.settles(exactly(map[string]int{"g": 5}))
	})
}

func (c *cluster) editPodGroup(name string, minMember int) {
	c.Helper()
	patch := fmt.Appendf(nil, `{"spec": {"minMember": %d}}`, minMember)
	_, err := c.podGroups(workload.NewPodGroup(name, 1)).Patch(c.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{})
	c.Must(err)
}

func TestANodeGoesWhileItsMemberIsHeld(t *testing.T) {
	w, d := held(t)
	node := w.placeOfOneHeld("g")
	w.Must(w.Client.CoreV1().Nodes().Delete(t.Context(), node, metav1.DeleteOptions{}))
	w.Eventually("muster has seen it", func() error {
		page, err := w.Page(w.Context(), "/debug/nodes")
		if err == nil && strings.Contains(page, node) {
			err = fmt.Errorf("it has %s still", node)
		}
		return err
	})
	d.open()
	w.settles(exactly(map[string]int{"g": 4}))
	pods := w.Pods()
	for name, pod := range pods {
		if pod.Spec.NodeName == node {
			t.Errorf("pod %s is on node %s, which is gone", name, node)
		}
	}
}

// placeOfOneHeld is the node to which a member of a gang is to be bound.
func (s *server) placeOfOneHeld(gang string) string {
	s.Helper()
	page, err := s.Page(s.Context(), "/debug/gangs/"+workload.Namespace+"/"+gang)
	for line := range strings.Lines(page) {
		if columns := strings.Fields(line); len(columns) > 2 && columns[1] == "held" {
			return columns[2]
		}
	}
	s.Fatalf("no member is held: %s, error %v", page, err)
	return ""
}

func TestAPodGroupIsDeletedWhileMembersAreHeld(t *testing.T) {
	w, d := held(t)
	again := workload.NewPodGroup("g", 4)
	groups := w.podGroups(again)
	w.Must(groups.Delete(t.Context(), "g", metav1.DeleteOptions{}))
	w.awaitHeld("g", 0)
	d.open()
	w.settles(exactly(map[string]int{}))
	_, err := groups.Create(t.Context(), again, metav1.CreateOptions{})
	w.Must(err)
	w.settles(exactly(map[string]int{"g": 4}))
}
