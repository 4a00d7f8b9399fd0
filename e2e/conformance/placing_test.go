package conformance

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"

	"muster.dev/muster/api/config"
	"muster.dev/muster/e2e/workload"
)

// PLACED_PODS is how many pods are placed by either side, on clusters of PLACING_NODES nodes with PODS_OF_A_PLACING
// pods each.
func TestAPlanIsAsGoodAsWhatKubeSchedulerChooses(t *testing.T) {
	c := begin(t)
	wanted, nodes, pods := size(t, "PLACED_PODS", 400, 4000), size(t, "PLACING_NODES", 25, 25), size(t, "PODS_OF_A_PLACING", 100, 100)
	var theirs, ours Placing
	for seed := c.seed; theirs.Placed < wanted; seed++ {
		c.placeBoth(GenerateDeployments(seed, nodes, pods), seed, &theirs, &ours)
	}
	c.compare("", theirs, ours)
}

// OPENB_PERCENT is the percentage of the openb trace's nodes, and of its pods, that either side places. DEMO_DATA is
// its directory, relative to the root of the repository.
func TestAPlanIsAsGoodAsWhatKubeSchedulerChoosesOnOpenB(t *testing.T) {
	c := begin(t)
	var theirs, ours Placing
	c.placeBoth(openb(t, size(t, "OPENB_PERCENT", 10, 10), c.seed), c.seed, &theirs, &ours)
	c.compare("_openb", theirs, ours)
}

// placeBoth has both sides place the pods of a scenario, and fails if muster does not take the best node of the moment.
func (c *campaign) placeBoth(scenario *Scenario, seed uint64, theirs, ours *Placing) {
	c.Helper()
	placing, err := c.judge.PlaceLikeKubeScheduler(c.Context(), scenario, seed)
	if err != nil {
		c.Fatalf("CONFORMANCE_SEED=%d: kube-scheduler: %v", seed, err)
	}
	theirs.Add(placing)
	if placing, err = c.judge.PlaceWithMuster(c.Context(), scenario, seed); err != nil {
		c.Fatalf("CONFORMANCE_SEED=%d: muster: %v", seed, err)
	}
	if placing.BelowBest > 0 {
		c.Errorf("CONFORMANCE_SEED=%d: %d pods did not get the best node of their moment", seed, placing.BelowBest)
	}
	ours.Add(placing)
}

func (c *campaign) compare(figure string, theirs, ours Placing) {
	c.Helper()
	ratio := ours.Mean() / theirs.Mean()
	fmt.Printf("figure placement_pods_placed_stock%s=%d\n", figure, theirs.Placed)
	fmt.Printf("figure placement_pods_placed_muster%s=%d\n", figure, ours.Placed)
	fmt.Printf("figure placement_score_vs_stock%s=%.4f\n", figure, ratio)
	if c.expects() && ratio < 0.99 {
		c.Errorf("muster's choices rate %.1f on average, kube-scheduler's %.1f", ours.Mean(), theirs.Mean())
	}
}

// openb draws a part of the openb trace. A node gets the same number of pods as in the whole trace, so that in the end
// not all of them fit. The test is skipped where the trace is not.
func openb(t *testing.T, percent int, seed uint64) *Scenario {
	t.Helper()
	data := os.Getenv("DEMO_DATA")
	if data == "" {
		t.Skip("DEMO_DATA does not say where the openb trace is")
	}
	if !filepath.IsAbs(data) {
		data = filepath.Join("../..", data)
	}
	trace, err := workload.LoadOpenB(data, seed)
	if err != nil {
		t.Fatal(err)
	}
	newSource(seed).random.Shuffle(len(trace.Nodes), func(i, j int) { trace.Nodes[i], trace.Nodes[j] = trace.Nodes[j], trace.Nodes[i] })
	scenario := &Scenario{
		Profile: pickingProfile(),
		Nodes:   trace.Nodes[:len(trace.Nodes)*percent/100],
		Pending: trace.Pods[:len(trace.Pods)*percent/100],
	}
	for _, pod := range scenario.Pending {
		pod.UID, pod.Status.Phase = types.UID(pod.Name), corev1.PodPending
	}
	return scenario
}

func TestAPlacingNoticesWhenANodeIsNotTheBest(t *testing.T) {
	t.Parallel()
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

// SAMPLED_PODS is how many pods are placed by each of those who look at a part of the nodes, on each of
// SAMPLED_CLUSTERS clusters of SAMPLED_NODES nodes.
func TestWhatIsChosenOfFewNodesIsAsGood(t *testing.T) {
	c := begin(t)
	nodes, pods := size(t, "SAMPLED_NODES", 300, 500), size(t, "SAMPLED_PODS", 20, 60)
	clusters := uint64(size(t, "SAMPLED_CLUSTERS", 1, 1))
	place := func(sample Sample) (all Placing) {
		t.Helper()
		for seed := c.seed; seed < c.seed+clusters; seed++ {
			placing, err := c.judge.PlaceOfASample(t.Context(), GenerateDeployments(seed, nodes, pods), sample, seed)
			if err != nil {
				t.Fatalf("CONFORMANCE_SEED=%d: %+v: %v", seed, sample, err)
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
	for _, selection := range []config.NodeSelection{config.NodeSelectionMuster, config.NodeSelectionScheduler} {
		with := place(Sample{Find: musterSample, Selection: selection})
		ratio := with.Mean() / stock.Mean()
		worst = min(worst, ratio)
		fmt.Printf("figure sampled_score_%s_vs_stock=%.4f\n", strings.ToLower(string(selection)), ratio)
		if c.expects() && with.Placed != stock.Placed {
			t.Errorf("%s: %d pods are placed, by kube-scheduler alone %d", selection, with.Placed, stock.Placed)
		}
		if c.expects() && ratio < few.Mean()/stock.Mean()-0.01 {
			t.Errorf("%s: choices rate %.1f on average, kube-scheduler's of the same number of nodes %.1f", selection, with.Mean(), few.Mean())
		}
	}
	fmt.Printf("figure sampled_score_vs_stock=%.4f\n", worst)
}

// musterSample is how many nodes kube-scheduler looks for by what `muster scheduler-config` prints.
const musterSample = 100
