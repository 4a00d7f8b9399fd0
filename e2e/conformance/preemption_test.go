package conformance

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A tenth of CONFORMANCE_CASES is how many nodes are tried. CONFORMANCE_SEED is the first scenario's seed, the next
// one's is one more.
func TestMusterAndKubeSchedulerEvictTheSamePods(t *testing.T) {
	wanted := int(fromEnvironment(t, "CONFORMANCE_CASES", 50_000) / 10)
	seed := fromEnvironment(t, "CONFORMANCE_SEED", rand.Uint64())
	judge, err := NewPreemptionJudge(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for ; judge.Cases < wanted; seed++ {
		known := len(judge.First)
		if err := judge.Hear(t.Context(), GeneratePreemption(seed)); err != nil {
			t.Fatalf("CONFORMANCE_SEED=%d: %v", seed, err)
		}
		for _, disagreement := range judge.First[known:] {
			t.Errorf("CONFORMANCE_SEED=%d: %v", seed, disagreement)
		}
	}
	fmt.Printf("figure preemption_cases=%d\n", judge.Cases)
	fmt.Printf("figure preemption_disagreements=%d\n", judge.Disagreements)
	t.Logf("%v", judge.Outcomes)
	if wanted >= 1000 {
		checkPreemptions(t, judge)
	}
}

// checkPreemptions fails when the scenarios were too tame to tell right from wrong.
func checkPreemptions(t *testing.T, judge *PreemptionJudge) {
	t.Helper()
	for _, outcome := range []string{noEvictionHelps, oneVictim, severalVictims, againstBudgets, noNodeChosen, nodeChosen} {
		if times := judge.Outcomes[outcome]; times < judge.Cases/100 {
			t.Errorf("%q %d times in %d cases", outcome, times, judge.Cases)
		}
	}
}

func TestTheSameSeedDrawsTheSamePreemption(t *testing.T) {
	if diff := cmp.Diff(GeneratePreemption(7), GeneratePreemption(7)); diff != "" {
		t.Error(diff)
	}
	if cmp.Equal(GeneratePreemption(7), GeneratePreemption(8)) {
		t.Error("another seed draws the same")
	}
}
