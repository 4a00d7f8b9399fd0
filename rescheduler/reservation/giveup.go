package reservation

import (
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	schedulingv1alpha1 "muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/placement/scenario"
	"muster.dev/muster/predicates"
)

// mostLooks is how often it is looked at most what is to be given up for a pod, as nodes change meanwhile.
const mostLooks = 8

// setback is why the room of a plan was given up: the reason and the message of a condition.
type setback struct{ reason, message string }

// keeps reports whether the room of a plan is to be kept here.
func (k *Keeper) keeps(plan *v1alpha1.ReschedulingPlan, now time.Time) bool {
	_, gaveUp := k.setbacks[plan.UID]
	reason, _ := plan.GivenUp()
	return k.since.reserves(plan, now) && !gaveUp && reason == ""
}

// settle gives up the plans that keep room for a pod which came in the place of one of another kind, and does
// not fit the room. The scheduler may put it anywhere then: the rest of such a plan is not carried out, and so
// the room that it keeps for others, including the node that was left, is useless. A stranger's description of
// itself does not count.
func (k *Keeper) settle(pod *cluster.Pod, profile *predicates.Profile) {
	if pod.ClaimProblem == cluster.ClaimMissing {
		return // what fits is not known before its claims are made
	}
	for range mostLooks {
		if k.cluster.PendingPod(pod.UID) != pod || !k.giveUpOne(pod, profile) {
			return
		}
	}
}

// giveUpOne gives up one plan, or has it looked again as its node has changed since it was judged. It
// returns false when there is nothing to give up.
func (k *Keeper) giveUpOne(pod *cluster.Pod, profile *predicates.Profile) (again bool) {
	k.mu.Lock()
	places := k.places(pod, profile)
	k.mu.Unlock()
	for i := range places {
		place := &places[i]
		if !place.differs {
			continue
		}
		snap := k.cluster.Snapshot()
		if place.willSuit(pod, profile, snap) {
			continue
		}
		k.giveUp(place.Node, snap.NodeByName(place.Node), setback{v1alpha1.ReasonReplacementDiffers, fmt.Sprintf(
			"%s/%s, which came in the place of another pod, differs from it, and does not fit the room on %s", pod.Namespace, pod.Name, place.Node,
		)}, func(r *reservation) bool { return r.pod.UID == place.placeholder })
		return true
	}
	return false
}

// giveUp ends the plans of reservations on a node that nobody has taken, provided that the node is as it was judged.
func (k *Keeper) giveUp(on string, judged *cluster.Node, why setback, which func(*reservation) bool) (gaveUp bool) {
	k.mu.Lock()
	if k.cluster.Snapshot().NodeByName(on) == judged {
		for _, r := range k.reservations {
			if r.node == on && r.taker == "" && which(r) {
				k.setbacks[r.plan], gaveUp = why, true
			}
		}
	}
	if gaveUp {
		k.refresh()
	}
	k.mu.Unlock()
	if gaveUp {
		k.log.Info("the room of a plan is given up", "reason", why.message)
		k.tell()
	}
	return gaveUp
}

// standing reports whether the room of a plan is to be kept, and why it was given up here, nil when it was not.
func (k *Keeper) standing(plan *v1alpha1.ReschedulingPlan) (reserving bool, gaveUp *setback) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if why, gave := k.setbacks[plan.UID]; gave {
		gaveUp = &why
	}
	return k.since.reserves(plan, k.clock.Now()), gaveUp
}

// since is when plans were first seen to run, by their UIDs and by the clock of this process.
type since map[types.UID]time.Time

// see takes in which plans run now.
func (s since) see(plans map[string]*v1alpha1.ReschedulingPlan, now time.Time) {
	running := sets.New[types.UID]()
	for _, plan := range plans {
		if !plan.Runs() {
			continue
		}
		running.Insert(plan.UID)
		if _, known := s[plan.UID]; !known {
			s[plan.UID] = now
		}
	}
	maps.DeleteFunc(s, func(plan types.UID, _ time.Time) bool { return !running.Has(plan) })
}

// reserves reports whether the room of a plan is to be kept: while it runs, for as long as it may take. That counts from when
// this process saw that it runs, as its times are by another clock; so it is never shorter than for the rescheduler.
func (s since) reserves(plan *v1alpha1.ReschedulingPlan, now time.Time) bool {
	lasts := plan.Lasts()
	if lasts == 0 { // nobody has said
		return plan.Reserves(now)
	}
	began, runs := s[plan.UID]
	return runs && plan.Runs() && now.Before(began.Add(lasts))
}

// IsPinnedToNode reports whether a pod is one that a DaemonSet has for one node, and for no other.
func IsPinnedToNode(pod *cluster.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(pod.Pod)
	return owner != nil && owner.Kind == "DaemonSet" && predicates.NamesItsNode(pod.Pod)
}

// Passes reports whether no plan keeps a pod out: what a node or the cluster needs to work comes before what would be better.
func Passes(pod *cluster.Pod) bool {
	return IsPinnedToNode(pod) || corev1helpers.PodPriority(pod.Pod) >= schedulingv1alpha1.SystemCritical
}

// GiveWay gives up the plans that keep room on a node, if nothing else is in the way there of a pod that no plan keeps
// out. It is for a pod that fits nowhere else, and says whether to look again. Only nodes are looked at that may is
// true for.
func (k *Keeper) GiveWay(pod *cluster.Pod, profile *predicates.Profile, may func(node *cluster.Node) bool) bool {
	if !k.inForce.Load() || !Passes(pod) {
		return false
	}
	for range mostLooks {
		snap := k.cluster.Snapshot()
		node := inTheWay(k.nodes(), pod, profile, snap, may)
		if node == nil {
			return false
		}
		why := setback{v1alpha1.ReasonSystemPodCame, fmt.Sprintf(
			"%s/%s, which no plan keeps out, needs the room on %s", pod.Namespace, pod.Name, node.Name,
		)}
		if k.giveUp(node.Name, node, why, func(*reservation) bool { return true }) {
			return true
		}
	}
	return false
}

// inTheWay is the first of some nodes that a pod would fit if plans kept no room there, and does not fit as it is; nil when there is
// none.
func inTheWay(
	names []string, pod *cluster.Pod, profile *predicates.Profile, snap *cluster.Snapshot, may func(node *cluster.Node) bool,
) *cluster.Node {
	judge := scenario.New(snap).Judge(profile.Judge(pod, snap))
	for _, name := range names {
		node := snap.NodeByName(name)
		if node == nil || !may(node) || judge.Fits(node.Index) {
			continue
		}
		if judge.FitsIn(node.Without(func(other *cluster.Pod) bool { return other.Placeholder })) {
			return node
		}
	}
	return nil
}

// nodes returns the nodes that plans keep room on, by name.
func (k *Keeper) nodes() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	names := sets.New[string]()
	for _, r := range k.reservations {
		if r.taker == "" {
			names.Insert(r.node)
		}
	}
	sorted := names.UnsortedList()
	slices.Sort(sorted)
	return sorted
}
