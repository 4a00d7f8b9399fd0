package predicates

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/cluster"
)

// Nodes have pods that are alike and others, in any order.
func TestWhatIsRememberedOfAPodIsSaidOfPodsThatAreAlike(t *testing.T) {
	c := newCluster()
	const nodes, perNode = manyNodes + 10, 5
	for n := range nodes {
		name := fmt.Sprint("node-", n)
		if err := c.Set(node(called(name))); err != nil {
			t.Fatal(err)
		}
		for p := range perNode {
			err := c.Set(pod(func(pod *corev1.Pod) {
				pod.Name, pod.UID = fmt.Sprint(name, "-", p), types.UID(fmt.Sprint(name, "-", p))
				pod.Spec.NodeName, pod.Labels = name, map[string]string{"app": fmt.Sprint((n * (p + 1)) % 3)}
			}))
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	snap := c.Snapshot()
	var s selection
	s.remember(indexes(snap))
	asked := 0
	selects := func(pod *cluster.Pod) bool {
		asked++
		return pod.Labels["app"] == "1"
	}
	for node := range snap.Nodes() {
		for place, pod := range node.Pods {
			if got, want := s.of(node, place, selects), pod.Labels["app"] == "1"; got != want {
				t.Fatalf("pod %s of app %s is selected: %t, want %t", pod.Name, pod.Labels["app"], got, want)
			}
		}
	}
	if asked != 3 {
		t.Errorf("it was asked about %d pods, of three kinds", asked)
	}
	s.forget()
	if s.of(snap.Node(0), 0, selects); asked != 4 {
		t.Error("something is remembered though it was to be forgotten")
	}
}
