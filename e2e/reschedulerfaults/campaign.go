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
	pausesFigure    = "brakes"     // times in which a rescheduler had a stricter mode
	marksFigure     = "marked"     // nodes
	marksLeftFigure = "marks_left" // at the end, with no plan behind them
	lostFigure      = "evicted_not_replaced"
)

// plansFigure is how many plans ended in a phase.
func plansFigure(phase v1alpha1.Phase) string { return "plans_" + string(phase) }

// byFigure is how many evictions plans of a policy made.
func byFigure(policy v1alpha1.Policy) string { return "evictions_by_" + string(policy) }

// Campaign is the one for rescheduling.
func Campaign() faultcampaign.Campaign {
	counts := []string{
		plansFigure(v1alpha1.Succeeded), plansFigure(v1alpha1.Failed), plansFigure(v1alpha1.Expired), evictionsFigure, movedFigure, placedFigure,
		pausesFigure, marksFigure, marksLeftFigure, lostFigure,
	}
	for _, policy := range v1alpha1.Policies() {
		counts = append(counts, byFigure(policy))
	}
	return faultcampaign.Campaign{Name: "rescheduler", Open: open, Counts: counts, PerRun: []string{evictionsFigure}}
}
