package extender_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// awaitEvent waits until an event says something about an object.
func (c *cluster) awaitEvent(about types.UID, words string) {
	c.Helper()
	c.Eventually("an event says it", func() error {
		events, err := c.Client.CoreV1().
			Events(workload.Namespace).
			List(c.Context(), metav1.ListOptions{FieldSelector: "involvedObject.uid=" + string(about)})
		if err != nil {
			return err
		}
		var said []string
		for _, event := range events.Items {
			if strings.Contains(event.Message, words) {
				return nil
			}
			said = append(said, event.Message)
		}
		return fmt.Errorf("of %q, want: %s", said, words)
	})
}

func TestAGroupMayBeCreatedAfterItsPods(t *testing.T) {
	c := newCluster(t, workload.NewNodes("node", 4, "4")...)
	c.createPodGroups(workload.NewPodGroup("misspelled", 4))
	w := c.serveAndSchedule(muster.Options{}).watch()
	c.createPods(workload.NewMembers("g", 4, "3")...)
	for i := range 4 {
		uid := c.Pod(fmt.Sprintf("g-%d", i)).UID
		c.awaitEvent(uid, "there is no PodGroup g in namespace default")
		c.awaitEvent(uid, "4 gang: its PodGroup does not exist") // the scheduler's
	}
	w.settles(exactly(map[string]int{}))
	c.createPodGroups(workload.NewPodGroup("g", 4))
	w.settles(exactly(map[string]int{"g": 4}))
}

func TestMembersWaitForTheOthersToBeCreated(t *testing.T) {
	c := newCluster(t, workload.NewNodes("node", 4, "4")...)
	c.createPodGroups(workload.NewPodGroup("g", 4))
	w := c.serveAndSchedule(muster.Options{}).watch()
	pods := workload.NewMembers("g", 4, "3")
	c.createPods(pods[:3]...)
	w.settles(exactly(map[string]int{}))
	c.awaitEvent(c.Pod("g-0").UID, "4 gang: members are missing")
	c.createPods(pods[3])
	w.settles(exactly(map[string]int{"g": 4}))
}

func TestAGangWaitsUntilItsMinResourcesAreFree(t *testing.T) {
	c := newCluster(t, workload.NewNodes("node", 4, "4")...)
	group := workload.NewPodGroup("g", 2)
	c.Must(unstructured.SetNestedStringMap(group.Object, map[string]string{"cpu": "20"}, "spec", "minResources"))
	c.createPodGroups(group)
	w := c.serveAndSchedule(muster.Options{}).watch()
	c.createPods(workload.NewMembers("g", 2, "1")...)
	w.settles(exactly(map[string]int{}))
	c.createNodes(workload.NewNode("added", "4"))
	w.settles(exactly(map[string]int{"g": 2}))
}

func TestAMemberThatHasSucceededCountsAsStarted(t *testing.T) {
	c := newCluster(t, workload.NewNodes("node", 3, "4")...)
	c.createPodGroups(workload.NewPodGroup("g", 3))
	pods := workload.NewMembers("g", 4, "3")
	pods[0].Spec.NodeName = "node-00"
	c.createPods(pods[0])
	finished := c.Pod(pods[0].Name)
	finished.Status.Phase = corev1.PodSucceeded
	_, err := c.Client.CoreV1().Pods(workload.Namespace).UpdateStatus(t.Context(), finished, metav1.UpdateOptions{})
	c.Must(err)
	w := c.serveAndSchedule(muster.Options{}).watch()
	c.createPods(pods[1])
	w.settles(exactly(map[string]int{}))
	c.createPods(pods[2])
	w.settles(exactly(map[string]int{"g": 2}))
	c.createPods(pods[3])
	w.settles(exactly(map[string]int{"g": 3}))
	c.Eventually("the PodGroup says so", func() error {
		group, err := c.podGroups(workload.NewPodGroup("g", 3)).Get(t.Context(), "g", metav1.GetOptions{})
		if err != nil {
			return err
		}
		phase, _, _ := unstructured.NestedString(group.Object, "status", "phase")
		if phase != "Scheduled" { // nothing runs the pods
			return fmt.Errorf("its phase is %q: %v", phase, group.Object["status"])
		}
		return nil
	})
}
