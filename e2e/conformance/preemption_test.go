package conformance

import (
	"fmt"
	"testing"
)

// A tenth of CONFORMANCE_CASES is how many nodes are tried.
func TestMusterAndKubeSchedulerEvictTheSamePods(t *testing.T) {
	c := begin(t)
	judge, wanted := c.judge, size(t, "CONFORMANCE_CASES", 12_000, 60_000)/10
	c.hear(wanted, func(seed uint64) error { return judge.HearPreemption(t.Context(), GeneratePreemption(seed)) })
	fmt.Printf("figure preemption_cases=%d\n", judge.Cases)
	fmt.Printf("figure preemption_disagreements=%d\n", judge.Disagreements)
	fmt.Printf("figure preemption_undecided=%d\n", judge.Undecided)
	t.Logf("%v", judge.Outcomes)
	if !c.expects() || wanted < 1000 {
		return
	}
	for _, outcome := range []string{noEvictionHelps, oneVictim, severalVictims, againstBudgets, noNodeChosen, nodeChosen} {
		if times := judge.Outcomes[aboutPreemption][Outcome{What: outcome}]; times < judge.Cases/100 {
			t.Errorf("%q %d times in %d cases: the scenarios are too tame to tell right from wrong", outcome, times, judge.Cases)
		}
	}
}
