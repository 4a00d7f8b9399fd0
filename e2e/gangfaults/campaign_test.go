package gangfaults

import (
	"testing"

	"muster.dev/muster/e2e/seeds"
)

func TestGangsStartWholeOrNotAtAllWhateverGoesWrong(t *testing.T) {
	short := seeds.Options{Seeds: 5, First: 11, Lanes: 1}
	report, err := Campaign().Perform(t.Context(), short, t.TempDir(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	if err := report.Err(); err != nil {
		t.Error(err)
	}
	if whole, gated := report.Counts[wholeFigure], report.Counts[gatedFigure]; whole < short.Seeds || gated == 0 || len(report.Faults) < 5 {
		t.Errorf("%d gangs were whole, %d pods gated, and %d kinds of faults made: too few to tell anything", whole, gated, len(report.Faults))
	}
}

func TestGangsThatClaimDevicesHoldNoneInVainWhateverGoesWrong(t *testing.T) {
	short := seeds.Options{Seeds: 4, First: 11, Lanes: 1}
	report, err := DeviceCampaign().Perform(t.Context(), short, t.TempDir(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	if err := report.Err(); err != nil {
		t.Error(err)
	}
	if whole, allocations := report.Counts[deviceGangsFigure], report.Counts[allocationsFigure]; whole == 0 || allocations == 0 {
		t.Errorf("%d gangs with devices were whole, and %d claims allocated: too few to tell anything", whole, allocations)
	}
}

func TestGangsStartWholeAheadOfPlainSchedulersWhateverGoesWrong(t *testing.T) {
	short := seeds.Options{Seeds: 3, First: 6, Lanes: 1}
	report, err := AheadCampaign().Perform(t.Context(), short, t.TempDir(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	if err := report.Err(); err != nil {
		t.Error(err)
	}
	let := report.Counts[reservedFigure] + report.Counts[uncontestedFigure]
	if let == 0 || report.Counts[gatedFigure] == 0 || len(report.Faults) < 5 {
		t.Errorf("%d members were let go, and %d kinds of faults made: too few to tell anything", let, len(report.Faults))
	}
}
