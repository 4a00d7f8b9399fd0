package reschedulerfaults

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/e2e/campaigns/faultcampaign"
	"muster.dev/muster/e2e/fit"
)

// judgePending looks for what replaces evicted pods and has no node for long.
func (s *story) judgePending() (findings []finding) {
	for _, uid := range slices.Sorted(maps.Keys(s.final.pods)) {
		p := s.final.pods[uid]
		until := s.end
		for _, at := range []time.Time{p.bound, p.leaves} {
			if !at.IsZero() && at.Before(until) {
				until = at
			}
		}
		if waited := until.Sub(p.since); waited > pendingLimit {
			if m := s.final.replacedBy(s.evictions, p); m != nil && s.final.excuse(m) == "" && !s.final.hasItsPlace(m, p) {
				findings = append(
					findings,
					faultcampaign.Found(
						pendingTooLong, "pod %s, which came for %s, for %s: %s", p.object.Name, m.pod, waited.Round(time.Second), words(p.object),
					),
				)
			}
		}
	}
	return findings
}

// replacedBy returns the eviction that a pod came for, nil when it came for another reason: the pod that
// its controller made first after an eviction replaces the evicted one.
func (s *state) replacedBy(evictions []eviction, p *podLife) *move {
	came := map[types.UID]bool{} // for an eviction
	for _, m := range movesOf(evictions, s) {
		victim := s.pods[m.uid]
		if m.plan == nil || victim == nil || victim.leaves.IsZero() {
			continue
		}
		var first *podLife
		for uid, other := range s.pods {
			if m.mayBeReplacedBy(other.object) && uid != m.uid && !came[uid] && !other.since.Before(victim.leaves) &&
				(first == nil || other.since.Before(first.since)) {
				first = other
			}
		}
		if first == p {
			return &m
		}
		if first != nil {
			came[first.object.UID] = true
		}
	}
	return nil
}

// excuse is why there may be no place for what replaces an evicted pod, "" for nothing. The plan
// has to say it, too.
func (s *state) excuse(m *move) string {
	if m.plan.gone && !m.plan.object.Ended() {
		return "the plan was deleted"
	}
	if phase := m.plan.object.Status.Phase; phase != v1alpha1.Failed && phase != v1alpha1.Expired || m.plan.object.Status.Message == "" {
		return ""
	}
	if to := s.nodes[m.step.To]; s.isClosed(m.step.To) || to.since.After(m.plan.since) || to.wasClosed(m.plan.ended) {
		return "its node was closed"
	}
	if set := s.sets[m.step.Controller.UID]; set == nil || set.gone || set.object.Generation > 1 {
		return "its workload was changed"
	}
	if s.asksForMore(m) {
		return "what replaces it asks for more"
	}
	return ""
}

// asksForMore says that what replaces an evicted pod asks for more than it did.
func (s *state) asksForMore(m *move) bool {
	victim := s.pods[m.uid]
	for _, p := range s.pods {
		if controllerOf(p.object) == m.step.Controller.UID && !p.since.Before(victim.leaves) && milliCPU(p.object) > milliCPU(victim.object) {
			return true
		}
	}
	return false
}

// hasItsPlace says that another pod of the workload of one that was evicted was bound to its new place
// since. Pods of one workload are alike to a scheduler, whichever came first: the number that waits is
// the same as if the waiting one had come for another reason.
func (s *state) hasItsPlace(m *move, waits *podLife) bool {
	victim := s.pods[m.uid]
	for _, p := range s.pods {
		if p != waits && m.mayBeReplacedBy(p.object) && p.object.Spec.NodeName == m.step.To && p.bound.After(victim.leaves) {
			return true
		}
	}
	return false
}

// unsettled says what has to change yet.
func (s *state) unsettled(evictions []eviction, now time.Time) (because []string) {
	keeping := false
	for _, p := range s.plans {
		if p.ended.IsZero() {
			keeping = true
			because = append(because, fmt.Sprintf("plan %s is %s: %s", p.object.Name, p.object.Status.Phase, p.object.Status.Message))
		}
	}
	for _, p := range s.pods {
		if !p.gone {
			because = append(because, s.unsettledPod(evictions, p, now)...)
		}
	}
	if !keeping {
		for _, place := range s.places() {
			because = append(because, fmt.Sprintf("pod %s fits on node %s: %s", place.Pod.Name, place.Node, words(place.Pod)))
		}
	}
	for _, set := range s.sets {
		if missing := s.missing(set); missing > 0 {
			because = append(because, fmt.Sprintf("%d pods of %s are missing", missing, set.object.Name))
		}
	}
	slices.Sort(because)
	return because
}

// unsettledPod says so of a pod.
func (s *state) unsettledPod(evictions []eviction, p *podLife, now time.Time) (because []string) {
	if !p.leaves.IsZero() {
		return []string{fmt.Sprintf("pod %s is being deleted", p.object.Name)}
	}
	if p.bound.IsZero() && now.Sub(p.since) <= pendingLimit {
		if m := s.replacedBy(evictions, p); m != nil && s.excuse(m) == "" && !s.hasItsPlace(m, p) {
			return []string{fmt.Sprintf("pod %s, which came for %s, has no node: %s", p.object.Name, m.pod, words(p.object))}
		}
	}
	return nil
}

// places are those for pods that wait and are of no gang.
func (s *state) places() []fit.Place {
	var nodes []*corev1.Node
	for _, n := range s.nodes {
		if !n.gone {
			nodes = append(nodes, n.object)
		}
	}
	var pods []*corev1.Pod
	for _, p := range s.pods {
		if !p.gone {
			pods = append(pods, p.object)
		}
	}
	return slices.DeleteFunc(fit.Places(nodes, pods), func(place fit.Place) bool { return isMember(place.Pod) })
}

// missing is how many pods a set has yet to make.
func (s *state) missing(set *life[*set]) int {
	if set.gone {
		return 0
	}
	there := 0
	for _, p := range s.pods {
		if p.leaves.IsZero() && controllerOf(p.object) == set.object.UID {
			there++
		}
	}
	return set.object.replicas - there
}

// judgeLost looks for pods that were evicted and that nothing has replaced.
func (s *story) judgeLost() (findings []finding) {
	for _, m := range s.lost() {
		findings = append(findings, faultcampaign.Found(unreplaced, "pod %s, which was to go to %s by %s", m.pod, m.step.To, m.plan.name()))
	}
	return findings
}

// lost are the evictions of pods that nothing has replaced, by all that the API server has told until the end of the run, when
// all has settled:
//
//   - A plan named a place for what was to replace the pod, and has ended.
//   - No pod that the controller made since is left for it that was bound to a node at any time: each stands for one eviction,
//     the earliest for the earliest.
//   - The controller is there, and fewer of its pods are on nodes than it wants: each missing pod is a lost eviction.
//   - Neither did somebody delete the plan in its middle, close the node, or change the workload or what its pods ask for, nor
//     was the room taken by others when the plan had failed or expired, or had given it up.
func (s *story) lost() (lost []move) {
	missing, used := s.final.missingOnNodes(), sets.New[types.UID]()
	for _, m := range s.moves(s.final) {
		if m.plan == nil || m.plan.ended.IsZero() || m.life == nil || m.life.leaves.IsZero() {
			continue
		}
		if p := s.final.replacement(&m, used); p != nil {
			used.Insert(p.object.UID)
			continue
		}
		of := m.step.Controller.UID
		if missing[of] <= 0 || s.final.excuse(&m) != "" || s.final.othersTook(&m) {
			continue
		}
		missing[of]--
		lost = append(lost, m)
	}
	return lost
}

// missingOnNodes returns, for each existing controller, how many of the pods that it wants are not on nodes.
func (s *state) missingOnNodes() map[types.UID]int {
	missing := map[types.UID]int{}
	for uid, set := range s.sets {
		if !set.gone {
			missing[uid] = set.object.replicas
		}
	}
	for _, p := range s.pods {
		if p.leaves.IsZero() && !p.bound.IsZero() {
			missing[controllerOf(p.object)]--
		}
	}
	return missing
}

// replacement is the first pod of the controller of one that was evicted that came since and was bound, and is not used yet; nil
// for none.
func (s *state) replacement(m *move, used sets.Set[types.UID]) (first *podLife) {
	for uid, p := range s.pods {
		if !m.mayBeReplacedBy(p.object) || p.bound.IsZero() || p.since.Before(m.life.leaves) || used.Has(uid) {
			continue
		}
		if first == nil || cmp.Or(p.since.Compare(first.since), cmp.Compare(p.object.Name, first.object.Name)) < 0 {
			first = p
		}
	}
	return first
}

// othersTook says that a pod which the plan did not expect there was bound to where an evicted one was to go, when the plan did
// not keep that room any more and had not succeeded.
func (s *state) othersTook(m *move) bool {
	if m.plan.object.Status.Phase == v1alpha1.Succeeded {
		return false
	}
	since := m.plan.ended
	if !m.plan.gaveUp.IsZero() {
		since = m.plan.gaveUp
	}
	for _, p := range s.pods {
		there := p.object.Spec.NodeName == m.step.To && p.bound.After(since.Add(-slack))
		if there && !since.IsZero() && !isFor(m.plan.object, p.object, m.step.To) {
			return true
		}
	}
	return false
}

// othersWork says that a pod of the controller other than that one is ready, or was so after a time.
func (s *state) othersWork(than, controller types.UID, after time.Time) bool {
	for uid, p := range s.pods {
		if uid != than && controllerOf(p.object) == controller && (p.downSince.IsZero() || p.downSince.After(after)) && !p.upSince.IsZero() {
			return true
		}
	}
	return false
}
