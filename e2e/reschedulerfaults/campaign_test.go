package reschedulerfaults

import (
	"testing"

	"muster.dev/muster/e2e/seeds"
)

func TestPodsMoveToTheirPlacesOrStayWhateverGoesWrong(t *testing.T) {
	short := seeds.Options{Seeds: 5, First: 137, Lanes: 1}
	report, err := Campaign().Perform(t.Context(), short, t.TempDir(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	if err := report.Err(); err != nil {
		t.Error(err)
	}
	if evictions := report.Counts[evictionsFigure]; evictions == 0 || len(report.Faults) < 5 {
		t.Errorf("%d pods were evicted, and %d kinds of faults made: too few to tell anything", evictions, len(report.Faults))
	}
}
