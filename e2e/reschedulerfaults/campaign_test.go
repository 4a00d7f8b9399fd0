package reschedulerfaults

import (
	"testing"

	"muster.dev/muster/e2e/seeds"
)

func TestPodsMoveToTheirPlacesOrStayWhateverGoesWrong(t *testing.T) {
	short := seeds.Options{Seeds: 5, First: 137, Lanes: 1}
	report, err := campaign(t.Context(), short, t.TempDir(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	report.print(t.Output())
	if err := report.err(); err != nil {
		t.Error(err)
	}
	if report.tally.evictions == 0 || len(report.faults) < 5 {
		t.Errorf("%d pods were evicted, and %d kinds of faults made: too few to tell anything", report.tally.evictions, len(report.faults))
	}
}
