package reschedulerfaults

import (
	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/e2e/faultcampaign"
)

// Figures of a campaign.
const (
	evictionsFigure = "evictions"
	movedFigure     = "moved"
	placedFigure    = "placed"
	pausesFigure    = "dry_runs"   // times in which a rescheduler had the mode DryRun
	marksFigure     = "marked"     // nodes
	marksLeftFigure = "marks_left" // at the end, with no plan behind them
	lostFigure      = "evicted_not_replaced"
)

// plansFigure is how many plans ended in a phase.
func plansFigure(phase v1alpha1.Phase) string { return "plans_" + string(phase) }

// Campaign is the one for rescheduling.
func Campaign() faultcampaign.Campaign {
	return faultcampaign.Campaign{Name: "rescheduler", Open: open, Counts: []string{
		plansFigure(v1alpha1.Succeeded), plansFigure(v1alpha1.Failed), plansFigure(v1alpha1.Expired), evictionsFigure, movedFigure, placedFigure,
		pausesFigure, marksFigure, marksLeftFigure, lostFigure,
	}}
}
