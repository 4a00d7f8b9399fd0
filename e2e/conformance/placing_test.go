package conformance

import (
	"fmt"
	"math/rand/v2"
	"testing"

	fwk "k8s.io/kube-scheduler/framework"
)

// PLACED_PODS is how many pods are placed by either side, on clusters of PLACING_NODES
// nodes with PODS_OF_A_PLACING pods each. CONFORMANCE_SEED is the first cluster's seed.
func TestAPlanIsAsGoodAsWhatKubeSchedulerChooses(t *testing.T) {
	wanted := int(fromEnvironment(t, "PLACED_PODS", 400))
	nodes := int(fromEnvironment(t, "PLACING_NODES", 25))
	pods := int(fromEnvironment(t, "PODS_OF_A_PLACING", 100))
	seed := fromEnvironment(t, "CONFORMANCE_SEED", rand.Uint64())
	judge := newJudge(t)
	var theirs, ours Placing
	for ; theirs.Placed < wanted; seed++ {
		scenario := GenerateDeployments(seed, nodes, pods)
		placing, err := judge.PlaceLikeKubeScheduler(t.Context(), scenario, seed)
		if err != nil {
			t.Fatalf("CONFORMANCE_SEED=%d: kube-scheduler: %v", seed, err)
		}
		theirs.Add(placing)
		if placing, err = judge.PlaceWithMuster(t.Context(), scenario, seed); err != nil {
			t.Fatalf("CONFORMANCE_SEED=%d: muster: %v", seed, err)
		}
		if placing.BelowBest > 0 {
			t.Errorf("CONFORMANCE_SEED=%d: %d pods did not get the best node of their moment", seed, placing.BelowBest)
		}
		ours.Add(placing)
	}
	ratio := ours.Mean() / theirs.Mean()
	fmt.Printf("figure placement_pods_placed_stock=%d\n", theirs.Placed)
	fmt.Printf("figure placement_pods_placed_muster=%d\n", ours.Placed)
	fmt.Printf("figure placement_score_vs_stock=%.4f\n", ratio)
	if ratio < 0.99 {
		t.Errorf("choices of muster rate %.1f on average, those of kube-scheduler %.1f", ours.Mean(), theirs.Mean())
	}
}

func TestAPlacingNoticesWhenANodeIsNotTheBest(t *testing.T) {
	scenario := GenerateDeployments(7, 10, 20)
	judge := newJudge(t)
	worst, err := judge.place(t.Context(), scenario, func(m *moment) (int, error) {
		at := -1
		for i, answer := range m.answers {
			if answer.Code == fwk.Success && (at < 0 || answer.Score < m.answers[at].Score) {
				at = i
			}
		}
		return at, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	best, err := judge.PlaceLikeKubeScheduler(t.Context(), scenario, 7)
	if err != nil {
		t.Fatal(err)
	}
	if worst.BelowBest == 0 || worst.Mean() >= 0.99*best.Mean() || best.BelowBest > 0 {
		t.Errorf("the worst nodes: %+v, the best: %+v", worst, best)
	}
}
