package conformance

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"muster.dev/muster/api/config"
)

// SAMPLED_PODS is how many pods are placed by each of those who look at a part of the nodes, on each of SAMPLED_CLUSTERS
// clusters of SAMPLED_NODES nodes. CONFORMANCE_SEED is the first cluster's seed.
func TestWhatIsChosenOfFewNodesIsAsGood(t *testing.T) {
	nodes := int(fromEnvironment(t, "SAMPLED_NODES", 500))
	pods := int(fromEnvironment(t, "SAMPLED_PODS", 60))
	clusters := fromEnvironment(t, "SAMPLED_CLUSTERS", 1)
	seed := fromEnvironment(t, "CONFORMANCE_SEED", rand.Uint64())
	judge := newJudge(t)
	place := func(sample Sample) (all Placing) {
		t.Helper()
		for i := range clusters {
			placing, err := judge.PlaceOfASample(t.Context(), GenerateDeployments(seed+i, nodes, pods), sample, seed+i)
			if err != nil {
				t.Fatalf("CONFORMANCE_SEED=%d: %+v: %v", seed+i, sample, err)
			}
			all.Add(placing)
		}
		return all
	}
	stock := place(Sample{Find: StockSample(nodes)})
	few := place(Sample{Find: musterSample})
	fmt.Printf("figure sampled_pods_placed_stock=%d\n", stock.Placed)
	fmt.Printf("figure sampled_score_of_100_vs_stock=%.4f\n", few.Mean()/stock.Mean())
	worst := math.Inf(1)
	for _, selection := range []config.NodeSelection{config.NodeSelectionExtender, config.NodeSelectionScheduler} {
		with := place(Sample{Find: musterSample, Selection: selection})
		ratio := with.Mean() / stock.Mean()
		worst = min(worst, ratio)
		fmt.Printf("figure sampled_score_%s_vs_stock=%.4f\n", strings.ToLower(string(selection)), ratio)
		if with.Placed != stock.Placed {
			t.Errorf("CONFORMANCE_SEED=%d: %s: %d pods are placed, by kube-scheduler alone %d", seed, selection, with.Placed, stock.Placed)
		}
		if ratio < few.Mean()/stock.Mean()-0.01 {
			t.Errorf("CONFORMANCE_SEED=%d: %s: choices rate %.1f on average, those of kube-scheduler of as many nodes %.1f",
				seed, selection, with.Mean(), few.Mean())
		}
	}
	fmt.Printf("figure sampled_score_vs_stock=%.4f\n", worst)
}

// musterSample is how many nodes kube-scheduler looks for by what `muster scheduler-config` prints.
const musterSample = 100
