package gangfaults

import "muster.dev/muster/e2e/faultcampaign"

// Calls of the scheduler to muster, and of muster to the API server.
const (
	filterCall faultcampaign.Verb = "filter"
	bindCall   faultcampaign.Verb = "bind"

	binding    faultcampaign.Verb = "binding"
	nomination faultcampaign.Verb = "nomination"
	podChange  faultcampaign.Verb = "change of a pod"
	gateLift   faultcampaign.Verb = "lifting of a gate"
	groupState faultcampaign.Verb = "PodGroup status"
	startOf    faultcampaign.Verb = "record of a start"
)

// What happens to calls of the scheduler.
const (
	callDelayed   faultcampaign.Fault = "delayed"
	callTooLate   faultcampaign.Fault = "later than the deadline"
	callCut       faultcampaign.Fault = "cut"
	answerLost    faultcampaign.Fault = "answer lost"
	callRepeated  faultcampaign.Fault = "repeated"
	callElsewhere faultcampaign.Fault = "repeated for another node"
)

// keepBind has something happen to the first bind call about a pod.
func (w *writer) keepBind(pod string, s faultcampaign.Spoiled) {
	w.trouble.First[faultcampaign.Call{Verb: bindCall, About: pod}] = s
}

// addCallFaults puts in the faults of calls.
func (w *writer) addCallFaults(to *faultcampaign.Urn) {
	for _, f := range []faultcampaign.Fault{callDelayed, callCut, answerLost, callRepeated, callElsewhere} {
		to.Add(4, func() {
			v := bindCall
			if f != callRepeated && f != callElsewhere && w.rand.IntN(3) == 0 {
				v = filterCall
			}
			w.trouble.Add(v, f, 0.1+0.3*w.rand.Float64())
		})
	}
	w.trouble.AddAPIFaults(to, w.rand, []faultcampaign.Verb{binding, binding, nomination, podChange, gateLift, groupState, startOf}, 0.4)
}
