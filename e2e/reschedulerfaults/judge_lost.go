package reschedulerfaults

import (
	"cmp"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/api/rescheduling/v1alpha1"
)

// judgeLost looks for pods that were evicted and that nothing has replaced.
func (s *story) judgeLost() (findings []finding) {
	for _, m := range s.lost() {
		findings = append(findings, finding{unreplaced, fmt.Sprintf("pod %s, which was to go to %s by %s", m.pod, m.step.To, m.plan.name())})
	}
	return findings
}

// lost are the evictions of pods that nothing has replaced, by all that the API server has told until the end of the run, when
// all has settled:
//
//   - A plan named a place for what was to replace the pod, and has ended.
//   - No pod that the controller made since is left for it that was bound to a node at any time: each stands for one eviction,
//     the earliest for the earliest.
//   - The controller is there, and fewer of its pods are on nodes than it wants: as many evictions are lost as pods are missing.
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

// missingOnNodes is how many pods of each controller that is there are not on nodes, of those that it wants.
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
