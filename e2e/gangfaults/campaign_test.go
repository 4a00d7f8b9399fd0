package gangfaults

import (
	"testing"

	"muster.dev/muster/e2e/seeds"
)

func TestGangsStartWholeOrNotAtAllWhateverGoesWrong(t *testing.T) {
	short := seeds.Options{Seeds: 6, First: 13, Lanes: 1}
	report, err := campaign(t.Context(), short, t.TempDir(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	report.print(t.Output())
	if err := report.err(); err != nil {
		t.Error(err)
	}
	if report.started < short.Seeds || report.gated == 0 || len(report.faults) < 5 {
		t.Errorf("%d gangs were whole, %d pods gated, and %d kinds of faults made: too few to tell anything", report.started, report.gated, len(report.faults))
	}
}
