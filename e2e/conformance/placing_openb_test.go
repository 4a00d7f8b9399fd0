package conformance

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/e2e/workload"
)

// OPENB_PERCENT is how much of the openb trace is placed by either side: so many percent of
// its nodes and as many of its pods, drawn by CONFORMANCE_SEED. DEMO_DATA is its directory,
// relative to the root of the repository.
func TestAPlanIsAsGoodAsWhatKubeSchedulerChoosesOnOpenB(t *testing.T) {
	percent := int(fromEnvironment(t, "OPENB_PERCENT", 10))
	seed := fromEnvironment(t, "CONFORMANCE_SEED", rand.Uint64())
	scenario := openb(t, percent, seed)
	judge := newJudge(t)
	theirs, err := judge.PlaceLikeKubeScheduler(t.Context(), scenario, seed)
	if err != nil {
		t.Fatalf("CONFORMANCE_SEED=%d: kube-scheduler: %v", seed, err)
	}
	ours, err := judge.PlaceWithMuster(t.Context(), scenario, seed)
	if err != nil {
		t.Fatalf("CONFORMANCE_SEED=%d: muster: %v", seed, err)
	}
	if ours.BelowBest > 0 {
		t.Errorf("CONFORMANCE_SEED=%d: %d pods did not get the best node of their moment", seed, ours.BelowBest)
	}
	ratio := ours.Mean() / theirs.Mean()
	fmt.Printf("figure placement_pods_placed_stock_openb=%d\n", theirs.Placed)
	fmt.Printf("figure placement_pods_placed_muster_openb=%d\n", ours.Placed)
	fmt.Printf("figure placement_score_vs_stock_openb=%.4f\n", ratio)
	if ratio < 0.99 {
		t.Errorf("CONFORMANCE_SEED=%d: choices of muster rate %.1f on average, those of kube-scheduler %.1f", seed, ours.Mean(), theirs.Mean())
	}
}

// openb draws a part of the openb trace. As many pods come to a node as in the whole trace,
// so that in the end not all of them fit. The test is skipped where the trace is not.
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
