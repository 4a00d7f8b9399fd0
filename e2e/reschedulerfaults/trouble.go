package reschedulerfaults

import "muster.dev/muster/e2e/faultcampaign"

// Calls to the API server that something may happen to: the last one is muster's alone, and the first three are the
// rescheduler's alone.
const (
	evictionCall   faultcampaign.Verb = "eviction"
	evictionRecord faultcampaign.Verb = "record of evictions"
	planCreated    faultcampaign.Verb = "creation of a plan"
	planStatus     faultcampaign.Verb = "status of a plan"
	lease          faultcampaign.Verb = "lease"
	nomination     faultcampaign.Verb = "nomination"
	binding        faultcampaign.Verb = "binding"
)

// addCallFaults puts in the faults of calls.
func (w *writer) addCallFaults(to *faultcampaign.Urn) {
	verbs := []faultcampaign.Verb{
		evictionCall, evictionCall, evictionCall, evictionRecord, evictionRecord,
		planStatus, planStatus, planStatus, planCreated, lease, nomination, binding,
	}
	w.trouble.AddAPIFaults(to, w.rand, verbs, 0.7)
	// An answer of 500 does not tell whether the pod goes: in some runs it does, and in some it does not.
	for _, f := range []faultcampaign.Fault{faultcampaign.APIDone, faultcampaign.APIError} {
		to.Add(8, func() { w.trouble.Add(evictionCall, f, 0.4+0.4*w.rand.Float64()) })
	}
}
