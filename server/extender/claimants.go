package extender

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement/scenario"
)

// claimant may have decided about a pod before it is placed for itself.
type claimant interface {
	// claim decides about the pod of a filter call, or leaves it to the next claimant with advice: that of the
	// claimants before, and its own.
	claim(q *request, m *memory, given advice) (claim, error)
}

// claim holds the answer of a claimant that decides about a pod, else its advice.
type claim struct {
	decided bool
	answer  answer
	advice  advice
}

// decide returns the claim of a claimant that answers.
func decide(with answer) claim { return claim{decided: true, answer: with} }

// leave returns the claim of a claimant that leaves the pod to the next one.
func leave(with advice) claim { return claim{advice: with} }

// advice is for whom the pod is left to: the next claimants, and who places it for itself.
type advice struct {
	// planned is the node that was planned for the pod ahead of the call, or "".
	planned string
	// left are the nodes that plans of the rescheduler keep the pod away from.
	left sets.Set[string]
}

// ask has claimants decide about the pod of a request, in their order. It returns the last claim.
func ask(claimants []claimant, q *request, m *memory) (last claim, err error) {
	for _, claimant := range claimants {
		if last, err = claimant.claim(q, m, last.advice); last.decided || err != nil {
			break
		}
	}
	return last, err
}

// preempter may have decided which pods a pod evicts before it evicts for itself.
type preempter interface {
	// preempt names the victims for a pod, by node, unless that is left to the next preempter.
	preempt(about subject) (victims victims, decided bool)
}

// planner has pods count on nodes before kube-scheduler knows of it.
type planner interface {
	// planned reports whether a pod counts on its node only since it was planned there.
	planned(uid types.UID) bool
}

// yielder has plans for pods, which keep room.
type yielder interface {
	// giveWay frees a place for the pod of a request, which fits no candidate, if all that is in the way are
	// plans of lower priority. It says whether to look again. kube-scheduler does not count those either
	// (addNominatedPods in pkg/scheduler/framework/runtime/framework.go): it would evict pods in vain.
	giveWay(q *request) bool
}

// sparer knows of pods that a preemption must not take.
type sparer interface {
	// spare takes out of the answer about a preemption what would do harm, and reports whether what is left does none.
	spare(victims victims) (harmless bool)
}

// victims are the pods that have to go, by node.
type victims = map[string]*extenderv1.MetaVictims

// inFlight claims the pods whose binding the API server has not answered.
type inFlight struct{ picker *picker }

// reasonBinding refuses a pod while it may still be bound elsewhere.
const reasonBinding = "the pod is being bound to another node"

// claim answers with the node to which the pod may be bound any moment, by a call whose answer the scheduler
// has not got: to bind it there once more shows the outcome. If that node is not among the candidates, or the
// pod fits it no more, the pod has to wait until the outcome is known: it may not be bound yet.
func (b *inFlight) claim(q *request, m *memory, given advice) (claim, error) {
	node := b.picker.cluster.Binding(q.pod.UID)
	if node == "" {
		return leave(given), nil
	}
	confirmed, done, err := b.picker.confirm(q, m, node, given.left)
	if done || err != nil {
		return decide(confirmed), err
	}
	return decide(b.picker.refuse(q, reasonBinding)), nil
}

// Nominations are the pods that are placed ahead of calls, as by [muster.dev/muster/placement/nomination.Nominator].
type Nominations interface {
	// Take says that the scheduler has taken up a pod, and returns the node that was planned for it, or "".
	Take(uid types.UID) (node string)
	// Planned reports whether a pod counts on its node only since it was planned there.
	Planned(uid types.UID) bool
	// PlannedBelow are, by node, the pods of less than a priority that Planned speaks of.
	PlannedBelow(above int32) map[string][]types.UID
	// Yield gives up what is planned for pods.
	Yield(pods []types.UID)
	// Pass returns once the lock was free.
	Pass()
}

// takes claims no pod: it takes each up that is not in flight, and advises the node that was planned for it.
type takes struct{ nominations Nominations }

func (t *takes) claim(q *request, _ *memory, given advice) (claim, error) {
	given.planned = t.nominations.Take(q.pod.UID)
	return leave(given), nil
}

// nominated claims the pods that were nominated.
type nominated struct {
	picker      *picker
	nominations Nominations
}

// claim answers with the planned node, if it will do.
func (n *nominated) claim(q *request, m *memory, given advice) (claim, error) {
	if !q.picksNode() {
		return leave(given), nil // the plan was another profile's
	}
	confirmed, done, err := n.picker.confirm(q, m, given.planned, given.left)
	if done || err != nil {
		return decide(confirmed), err
	}
	return leave(given), nil
}

func (n *nominated) planned(uid types.UID) bool { return n.nominations.Planned(uid) }

// giveWay gives up the fewest nominations of lower priority on one node that are in the way.
func (n *nominated) giveWay(q *request) bool {
	planned := n.nominations.PlannedBelow(corev1helpers.PodPriority(q.pod.Pod))
	if len(planned) == 0 {
		return false
	}
	snap := n.picker.cluster.Snapshot()
	judge := scenario.New(snap).Judge(q.store.Profile.Judge(q.pod, snap))
	var fewest []types.UID
	for _, index := range q.nodes.in(snap).indexes {
		node := snap.Node(index)
		if node == nil || len(planned[node.Name]) == 0 || fewest != nil && len(planned[node.Name]) >= len(fewest) {
			continue
		}
		freed := node.Without(func(other *cluster.Pod) bool { return slices.Contains(planned[node.Name], other.UID) })
		if judge.FitsIn(freed) {
			fewest = planned[node.Name]
		}
	}
	n.nominations.Yield(fewest)
	return fewest != nil
}
