package reschedulerfaults

import "muster.dev/muster/e2e/faultcampaign"

// Calls to the API server that something may happen to: the first five are the rescheduler's, and all
// are muster's.
const (
	evictionCall faultcampaign.Verb = "eviction"
	planCreated  faultcampaign.Verb = "creation of a plan"
	planStatus   faultcampaign.Verb = "status of a plan"
	lease        faultcampaign.Verb = "lease"
	nomination   faultcampaign.Verb = "nomination"
	binding      faultcampaign.Verb = "binding"
)

// addCallFaults puts in the faults of calls.
func (w *writer) addCallFaults(to *faultcampaign.Urn) {
	verbs := []faultcampaign.Verb{
		evictionCall, evictionCall, evictionCall, planStatus, planStatus, planStatus, planCreated, lease, nomination, binding,
	}
	w.trouble.AddAPIFaults(to, w.rand, verbs, 0.7)
}
