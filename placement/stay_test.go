package placement

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"
	"pgregory.net/rapid"

	"muster.dev/muster/api/seeded"
	"muster.dev/muster/cluster"
)

// TestAPodStaysWhereItFitsAndNobodyElseHasToGo has pods stay on random clusters, where some pods are going: on the nodes
// where the model of [fresh] has them fit, or has once those are gone.
func TestAPodStaysWhereItFitsAndNobodyElseHasToGo(t *testing.T) {
	stayed, awaited := 0, 0
	seeded.Until(t, func() bool { return stayed > 0 && awaited > 0 }, func(t *rapid.T) {
		c, store := newStore(t)
		nodes := rapid.IntRange(1, 5).Draw(t, "nodes")
		for i := range nodes {
			set(t, c, drawNode(t, fmt.Sprint("node-", i)))
		}
		for i := range rapid.IntRange(0, 12).Draw(t, "placed pods") {
			pod := drawPod(t, fmt.Sprint("placed-", i))
			pod.Spec.NodeName = fmt.Sprint("node-", rapid.IntRange(0, nodes-1).Draw(t, "place"))
			set(t, c, pod)
		}
		pod := cluster.NewPod(drawPod(t, "pod"))
		pod.Spec.Priority = new(int32(100))
		leaving := func(pod *cluster.Pod) bool { return pod.Name < "placed-5" }
		plan := New(store, []*cluster.Pod{pod}, 1)
		defer plan.Close()
		evictions := NewEvictions(plan, func(pod *cluster.Pod) (Eviction, bool) {
			return Eviction{Leaving: leaving(pod)}, true
		})
		index := int32(rapid.IntRange(0, nodes).Draw(t, "node"))
		name := fmt.Sprint("node-", index)
		_, fits := fresh(store.Profile, plan, pod)[nodeIndex(plan, name)]
		switch place := evictions.Stay(pod, name); {
		case (place.Node >= 0) != fits:
			t.Fatalf("stays on %s: %t, fits: %t", name, place.Node >= 0, fits)
		case fits:
			stayed++
			return
		}
		if place := evictions.Await(pod, name); place.Node < 0 {
			return
		}
		awaited++
		victims, ok := evictions.Victims()
		if !ok || len(victims) == 0 {
			t.Fatalf("awaits %v, which is sound: %t", victims, ok)
		}
		for _, v := range victims {
			if !v.Leaving || v.Node != nodeIndex(plan, name) {
				t.Fatalf("%s of node %d has to go, for a pod that waits on %s", v.Pod.Name, v.Node, name)
			}
		}
	})
	if stayed == 0 || awaited == 0 {
		t.Fatalf("%d stayed and %d waited: this shows nothing", stayed, awaited)
	}
}

func nodeIndex(plan *Plan, name string) int32 {
	if node := plan.NodeByName(name); node != nil {
		return node.Index
	}
	return -1
}

func TestAPodDoesNotStayOnANodeThatIsAvoided(t *testing.T) {
	c, store := newStore(t)
	node := offering("4")
	node.Name = "node"
	set(t, c, node)
	for _, avoided := range []bool{false, true} {
		pods := gang(c, 1)
		plan := New(store, pods, 1)
		if avoided {
			plan.Avoid(sets.New("node"))
		}
		if place := plan.Stay(pods[0], "node"); (place.Node < 0) != avoided {
			t.Errorf("avoided: %t, stays on %d", avoided, place.Node)
		}
		plan.Close()
	}
}
