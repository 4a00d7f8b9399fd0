package leasefaults

import (
	"testing"

	"muster.dev/muster/e2e/seeds"
)

func TestOneMusterLeadsAtATimeWhateverGoesWrong(t *testing.T) {
	short := seeds.Options{Seeds: 5, First: 3, Lanes: 1}
	report, err := Campaign().Perform(t.Context(), short, t.TempDir(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	if err := report.Err(); err != nil {
		t.Error(err)
	}
	if answers, leaders := report.Counts[answersFigure], report.Counts[leadersFigure]; answers < 100*short.Seeds || leaders < short.Seeds+2 ||
		len(report.Faults) < 4 {
		t.Errorf("%d answers of %d leaders, and %d kinds of faults: too few to tell anything", answers, leaders, len(report.Faults))
	}
}
