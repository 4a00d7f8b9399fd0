package extender

import (
	"k8s.io/apimachinery/pkg/types"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

// claimant may have decided about a pod before it is placed for itself.
type claimant interface {
	// claim answers a filter call about a pod that waits, unless the pod is left to the next claimant.
	claim(c *call) (answered bool, err error)
}

// preempter may have decided which pods a pod evicts before it evicts for itself.
type preempter interface {
	// preempt names the victims for the pod of a call, by node, unless that is left to the next preempter.
	preempt(c *call) (victims victims, decided bool)
}

// planner has pods count on nodes before kube-scheduler knows of it.
type planner interface {
	// planned reports whether a pod counts on its node only since it was planned there.
	planned(uid types.UID) bool
	// giveWay frees a place for the pod of a call, which fits no candidate, if all that is in the way are
	// plans of lower priority. It says whether to look again. kube-scheduler does not count those either
	// (addNominatedPods in pkg/scheduler/framework/runtime/framework.go): it would evict pods in vain.
	giveWay(c *call) bool
}

// victims are the pods that have to go, by node.
type victims = map[string]*extenderv1.MetaVictims

// sparer knows of pods that a preemption must not take.
type sparer interface {
	// spare takes out of the answer about a preemption what would do harm, and reports whether what is left does none.
	spare(victims victims) (harmless bool)
}

// inFlight claims the pods whose binding the API server has not answered.
type inFlight struct{ picker *picker }

// reasonBinding refuses a pod while it may still be bound elsewhere.
const reasonBinding = "the pod is being bound to another node"

// claim answers with the node to which the pod may be bound any moment, by a call whose answer the scheduler
// has not got: to bind it there once more shows the outcome. If that node is not among the candidates, or the
// pod fits it no more, the pod has to wait until the outcome is known: it may not be bound yet.
func (b *inFlight) claim(c *call) (answered bool, err error) {
	node := b.picker.cluster.Binding(c.subject.pod.UID)
	if node == "" {
		return false, nil
	}
	if confirmed, err := b.picker.confirm(c, node); confirmed || err != nil {
		return confirmed, err
	}
	b.picker.refuse(c, reasonBinding)
	return true, nil
}
