package gangfaults

import "muster.dev/muster/e2e/faultcampaign"

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
)

// Campaign is the one for gangs.
func Campaign() faultcampaign.Campaign {
	return faultcampaign.Campaign{
		Name:   "gang",
		Counts: []string{gangsFigure, wholeFigure, repairedFigure, gatedFigure, bindingsFigure, evictedFigure, vainFigure, vigilsFigure},
		Open:   open,
	}
}
