package gangfaults

import "testing"

func TestGangsStartWholeOrNotAtAllWhateverGoesWrong(t *testing.T) {
	short := Options{Seeds: 8, First: 1, Lanes: 1}
	report, err := campaign(t.Context(), short, t.TempDir(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	report.print(t.Output())
	if err := report.err(); err != nil {
		t.Error(err)
	}
	if report.started < short.Seeds || len(report.faults) < 5 {
		t.Errorf("%d gangs were whole, and %d kinds of faults made: too few to tell anything", report.started, len(report.faults))
	}
}
