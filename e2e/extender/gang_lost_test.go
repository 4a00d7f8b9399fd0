package extender_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// cordon closes a node, or opens it again.
func (c *cluster) cordon(node string, closed bool) {
	c.Helper()
	patch := fmt.Appendf(nil, `{"spec": {"unschedulable": %v}}`, closed)
	if _, err := c.Client.CoreV1().Nodes().Patch(c.Context(), node, types.StrategicMergePatchType, patch, metav1.PatchOptions{}); err != nil {
		c.Fatal(err)
	}
}

// A node of a gang that runs is drained, and another pod waits for longer than the member that comes in the place of the lost
// one. Whether kube-scheduler or muster chooses the node, the member gets the place once it is opened: the other one of its
// gang is of no use alone.
func TestAGangThatHasLostAMemberWithANodeGetsThatRoomBack(t *testing.T) {
	for name, way := range muster.Ways() {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, after a restart %v", name, restart), func(t *testing.T) {
				lab.LongUnless(t, restart && name != "nominated")
				c := newCluster(t, workload.NewNodes("node", 2, "4")...)
				c.createPodGroups(workload.NewPodGroup("g", 2))
				var w *witness
				if way.Asked() {
					w = c.serveAndSchedule(way).watch()
				} else {
					w = c.alone(way).witness
				}
				pods := workload.NewMembers("g", 3, "3")
				c.createPods(pods[:2]...)
				c.awaitBound(2)
				lost := c.Pod("g-1").Spec.NodeName
				c.cordon(lost, true)
				c.createPods(workload.NewPod("single", "3"))
				c.Eventually("the other pod is refused", func() error {
					if !unschedulable(c.Pod("single")) {
						return c.isBound("single")
					}
					return nil
				})
				c.RemovePod("g-1")
				c.createPods(pods[2])
				if way.Asked() {
					c.awaitCondition("g-2")
				} else {
					(&ahead{w}).awaitReserved("g-2")
				}
				if restart {
					w.Must(w.Crash())
					w.Must(w.Restart(c.Context()))
				}
				c.cordon(lost, false)
				c.Eventually("one of the two has the room", func() error {
					if c.isBound("g-2") != nil && c.isBound("single") != nil {
						return c.isBound("g-2")
					}
					return nil
				})
				if got := c.Pod("g-2").Spec.NodeName; got != lost {
					t.Errorf("the member is on %q, want %s; the other pod on %q", got, lost, c.Pod("single").Spec.NodeName)
				}
			})
		}
	}
}
