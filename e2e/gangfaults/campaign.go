package gangfaults

import (
	"context"
	"io"

	"muster.dev/muster/e2e/faultcampaign"
)

// Figures of a campaign.
const (
	gangsFigure    = "gangs"
	wholeFigure    = "gangs_whole"
	repairedFigure = "gangs_partial_1s"
	gatedFigure    = "gated_pods"
	bindingsFigure = "bindings"
	evictedFigure  = "evictions"
	vainFigure     = "evictions_explained"
	vigilsFigure   = "hopeless_gangs"

	reservedFigure    = "let_go_reserved"    // members whose places were reserved
	uncontestedFigure = "let_go_uncontested" // members whose places nobody could take
)

// Campaign is the one for gangs with a scheduler that calls muster.
func Campaign() faultcampaign.Campaign {
	return faultcampaign.Campaign{
		Name:   "gang",
		Counts: []string{gangsFigure, wholeFigure, repairedFigure, gatedFigure, bindingsFigure, evictedFigure, vainFigure, vigilsFigure},
		Open: func(ctx context.Context, dir string, muster faultcampaign.Program, progress io.Writer) (faultcampaign.Performer, error) {
			return (&lane{program: muster, write: write}).open(ctx, dir, progress)
		},
	}
}

// DeviceCampaign is Campaign on nodes with devices, which members of gangs claim.
func DeviceCampaign() faultcampaign.Campaign {
	left := &claimsLeft{}
	return faultcampaign.Campaign{
		Name: "device", Target: "faults-gang KIND=devices",
		Counts: []string{
			gangsFigure, wholeFigure, deviceGangsFigure, allocationsFigure, takenBackFigure,
			repairedFigure, gatedFigure, bindingsFigure, evictedFigure, vainFigure, vigilsFigure,
		},
		Figures: left.figures,
		Open: func(ctx context.Context, dir string, muster faultcampaign.Program, progress io.Writer) (faultcampaign.Performer, error) {
			return (&lane{program: muster, write: writeDevices, left: left}).open(ctx, dir, progress)
		},
	}
}

// AheadCampaign is the one for gangs beside plain schedulers, which know nothing of muster.
func AheadCampaign() faultcampaign.Campaign {
	t := &tally{}
	return faultcampaign.Campaign{
		Name: "ahead_gang", Target: "faults-gang KIND=plain",
		Counts: []string{
			gangsFigure, wholeFigure, repairedFigure, gatedFigure, bindingsFigure, evictedFigure, vainFigure, reservedFigure, uncontestedFigure,
		},
		Figures: t.figures,
		Open: func(ctx context.Context, dir string, muster faultcampaign.Program, progress io.Writer) (faultcampaign.Performer, error) {
			return (&lane{program: muster, write: writeAhead, tally: t}).open(ctx, dir, progress)
		},
	}
}
