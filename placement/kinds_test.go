package placement

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/cluster"
)

// The memory for pods without a class has a part for every node, so that it must go with the last of them.
func TestPodsWithoutAControllerShareAJudgementUntilTheLastOfThemIsPlaced(t *testing.T) {
	c, store := newStore(t)
	node := offering("8")
	node.Name = "node"
	set(t, c, node)
	lone := func(name, app string) *cluster.Pod {
		pod := worker(0)
		pod.Name, pod.UID, pod.Labels, pod.OwnerReferences = name, types.UID(name), map[string]string{"app": app}, nil
		return cluster.NewPod(pod)
	}
	a1, b, a2 := lone("a1", "a"), lone("b", "b"), lone("a2", "a")
	plan := New(store, []*cluster.Pod{a1, b, a2}, 1)
	defer plan.Close()
	for _, step := range []struct {
		pod   *cluster.Pod
		known int
	}{{a1, 1}, {b, 1}, {a2, 0}, {a2, 0}, {lone("c", "c"), 0}} {
		if plan.Place(step.pod) < 0 {
			t.Fatalf("no place for %s", step.pod.Name)
		}
		if len(plan.trials) != step.known || len(plan.batches) != step.known {
			t.Errorf("after %s there are %d trials and %d batches, want %d", step.pod.Name, len(plan.trials), len(plan.batches), step.known)
		}
	}
}
