package conformance

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// TestWhatIsOfferedToAPodThatCountsIsJudgedThen has the judge hold the second call of a binding whose first answer was
// lost against the moment at which filter offered the node again: muster judges the pod there then, and not in bind.
func TestWhatIsOfferedToAPodThatCountsIsJudgedThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		const seed = 10
		i, err := NewInterleaving(ctx, seed)
		if err != nil {
			t.Fatal(err)
		}
		if i.Mode != (Mode{Selection: config.NodeSelectionScheduler}) {
			t.Fatalf("the mode of seed %d is %v", seed, i.Mode)
		}
		for range 20 {
			i.create()
		}
		if err := i.showPods(all); err != nil {
			t.Fatal(err)
		}
		counted := 0
		for range 100 {
			pod := i.anyPending()
			if err := i.filter(pod); err != nil {
				t.Fatal(err)
			}
			offer := i.offers[pod.UID]
			if offer == nil || i.cluster.Assumed(pod.UID) != "" {
				continue
			}
			if offer.judged != nil {
				t.Errorf("kube-scheduler picks one of %v, and yet it is muster that has judged", offer.nodes)
			}
			node := offer.nodes[0]
			if err := i.cluster.AssumeAll([]*cluster.Pod{i.cluster.PendingPod(pod.UID)}, i.cluster.Snapshot().NodeByName(node)); err != nil {
				t.Fatal(err)
			}
			i.cluster.Bind(pod.UID, node, time.Minute) // and there is no answer
			if err := i.filter(pod); err != nil {
				t.Fatal(err)
			}
			offer = i.offers[pod.UID]
			if offer == nil {
				continue // what was drawn to happen meanwhile is against it
			}
			if counted++; !slices.Equal(offer.nodes, []string{node}) || offer.judged == nil {
				t.Errorf("%s counts on %s and is offered %v; it is judged then: %v", pod.Name, node, offer.nodes, offer.judged != nil)
			}
		}
		if counted < 3 {
			t.Errorf("only %d pods that count were offered their node again", counted)
		}
	})
}
