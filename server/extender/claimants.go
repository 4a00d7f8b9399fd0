package extender

import (
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement/scenario"
	"muster.dev/muster/predicates"
	"muster.dev/muster/rescheduler/reservation"
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
	// left are the nodes that plans of the rescheduler, and what is booked, keep the pod away from.
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

// Reservations are the room that plans of the rescheduler count on, as kept by a [reservation.Keeper].
type Reservations interface {
	// Claim returns the plans' decision about a pod that the scheduler asks about.
	Claim(pod *cluster.Pod, profile *predicates.Profile) reservation.Claim
	// LeftBy are the nodes that plans, and what is booked, keep a pod away from.
	LeftBy(pod *cluster.Pod) sets.Set[string]
	// GiveWay gives up what plans keep on a node for a pod that no plan keeps out, and says whether to look again.
	GiveWay(pod *cluster.Pod, profile *predicates.Profile, may func(node *cluster.Node) bool) bool
	// Take makes a pod count on the place that was kept for it, as it was judged.
	Take(place *reservation.Place, pod *cluster.Pod, on cluster.Basis) error
	// Spared are the pods that no eviction for a pod may take, as plans count on them.
	Spared(preemptors ...*cluster.Pod) sets.Set[types.UID]
	// Pass returns once the lock was free.
	Pass()
}

// reserved claims the pods that plans of the rescheduler keep room for.
type reserved struct {
	picker       *picker
	reservations Reservations
}

// claim answers with the first of the places kept for the pod that is among the candidates and that
// it fits, and has the pod count there. Else it advises which nodes plans keep the pod away from.
func (r *reserved) claim(q *request, m *memory, given advice) (claim, error) {
	kept := r.reservations.Claim(q.pod, q.store.Profile)
	given.left = kept.Left
	if len(kept.Places) == 0 {
		return leave(given), nil
	}
	r.picker.cluster.Release(q.pod.UID) // the room is kept for it anyway
	for i := range kept.Places {
		if found, ok := r.take(q, &kept.Places[i]); ok {
			return decide(r.picker.offer(q, m, &found)), nil
		}
	}
	return leave(given), q.ctx.Err()
}

// take has the pod of a request count on a place, and returns the candidate that this is. It says false if that will not
// do, as the ordinary way will say.
func (r *reserved) take(q *request, place *reservation.Place) (found candidate, ok bool) {
	for pod := q.pod; q.ctx.Err() == nil; pod = latest(pod, r.picker.cluster) {
		snap := r.picker.cluster.Snapshot()
		node := snap.NodeByName(place.Node)
		if node == nil {
			return candidate{}, false
		}
		at := slices.Index(q.nodes.in(snap).indexes, node.Index)
		if at < 0 {
			return candidate{}, false
		}
		on, suits := place.Suits(pod, q.store.Profile, snap)
		if !suits {
			return candidate{}, false
		}
		if err := r.reservations.Take(place, pod, on); !errors.Is(err, cluster.ErrNodeChanged) {
			return candidate{at, on, snap}, err == nil
		}
	}
	return candidate{}, false
}

// preempt evicts nobody for a pod that has room coming.
func (r *reserved) preempt(about subject) (evicted victims, decided bool) {
	return victims{}, len(r.reservations.Claim(about.pod, about.store.Profile).Places) > 0
}

// giveWay gives up plans for a pod that none keeps out.
func (r *reserved) giveWay(q *request) bool {
	candidates := q.nodes.in(r.picker.cluster.Snapshot()).indexes
	return r.reservations.GiveWay(q.pod, q.store.Profile, func(node *cluster.Node) bool {
		return slices.Contains(candidates, node.Index)
	})
}

// keepsRoom reports whether a pod does not fit a node, and would if plans held no room there.
func keepsRoom(pod *cluster.Pod, profile *predicates.Profile, node *cluster.Node, snap *cluster.Snapshot) bool {
	free := node.Without(func(pod *cluster.Pod) bool { return pod.Placeholder })
	if free == node {
		return false
	}
	judge := scenario.New(snap).Judge(profile.Judge(pod, snap))
	return !judge.Fits(node.Index) && judge.FitsIn(free)
}
