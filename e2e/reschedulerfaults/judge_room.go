package reschedulerfaults

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	schedulingv1alpha1 "muster.dev/muster/api/scheduling/v1alpha1"
)

// isBinding says that an entry tells of a pod that has just been bound.
func isBinding(e entry, before *state) bool {
	if e.pod == nil || e.gone || e.pod.Spec.NodeName == "" {
		return false
	}
	known := before.pods[e.pod.UID]
	return known == nil || known.bound.IsZero()
}

// judgeReturns looks for what replaces an evicted pod and is bound to the node that it left,
// while the plan is in force.
func (s *story) judgeReturns() (findings []finding) {
	for e, before := range s.replay() {
		if !isBinding(e, before) || before.pods[e.pod.UID] == nil {
			continue
		}
		p := before.pods[e.pod.UID]
		for _, m := range s.moves(before) {
			victim := before.pods[m.uid]
			if m.plan == nil || victim == nil || !m.mayBeReplacedBy(e.pod) || e.pod.Spec.NodeName != m.step.From || m.isDoneWith(e.pod) {
				continue
			}
			if !victim.leaves.IsZero() && !p.since.Before(victim.leaves) && s.keeps(m.plan, e.at) {
				findings = append(
					findings,
					finding{
						returned,
						fmt.Sprintf("pod %s, which came for %s, is bound to %s in the middle of plan %s", e.pod.Name, m.pod, m.step.From, m.plan.object.Name),
					},
				)
			}
		}
	}
	return findings
}

// isDoneWith says that a pod is none of the plan's that moved another one: it is of another kind, and comes when the one that
// replaced that has come. A rollout makes such pods, one after the other.
func (m *move) isDoneWith(pod *corev1.Pod) bool {
	for i := range m.plan.object.Spec.Steps {
		if step := &m.plan.object.Spec.Steps[i]; step.Pod.UID == m.uid {
			asked := step.Replacement.Spec.Containers[0].Resources.Requests.Cpu().MilliValue()
			return m.plan.object.Step(i).Phase == v1alpha1.StepMoved && milliCPU(pod) != asked
		}
	}
	return false
}

// judgeThefts looks for pods that are bound to room which a plan keeps for others: so that what
// it counts on does not fit any more once all have left that are to leave.
func (s *story) judgeThefts() (findings []finding) {
	for e, before := range s.replay() {
		if !isBinding(e, before) {
			continue
		}
		for _, p := range before.plans {
			if node := e.pod.Spec.NodeName; s.keeps(p, e.at) && !isFor(p.object, e.pod, node) && !before.isClosed(node) {
				if left := before.room(node, p, s.final); left >= 0 && left < milliCPU(e.pod) {
					findings = append(
						findings,
						finding{
							stolen,
							fmt.Sprintf("pod %s of %dm is bound to %s, where plan %s leaves %dm", e.pod.Name, milliCPU(e.pod), node, p.object.Name, left),
						},
					)
				}
			}
		}
	}
	return findings
}

// keeps says that the room of a plan is kept at a time. Muster says that it has given it up soon after it has.
func (s *story) keeps(p *planLife, at time.Time) bool {
	later := s.final.plans[p.object.UID].gaveUp
	return p.inForce(at) && (later.IsZero() || at.Before(later.Add(-slack)))
}

// isFor says that a plan expects a pod on a node, or one of its kind.
func isFor(plan *v1alpha1.ReschedulingPlan, pod *corev1.Pod, node string) bool {
	for i := range plan.Spec.Steps {
		if step := &plan.Spec.Steps[i]; step.To == node && step.Controller.UID == controllerOf(pod) {
			return true
		}
	}
	for _, b := range plan.Spec.Beneficiaries {
		if b.Node == node && (b.UID == pod.UID || b.Gang != "" && isMember(pod)) { // members take each other's places
			return true
		}
	}
	return false
}

// room is what a plan leaves of a node: without the pods that are to leave it, and with those
// that are to come.
func (s *state) room(node string, plan *planLife, final *state) int64 {
	left := s.nodes[node].object.Status.Allocatable.Cpu().MilliValue() - s.toCome(node, plan, final)
	for uid, p := range s.pods {
		if !p.gone && !finished(p.object) && p.object.Spec.NodeName == node && plan.step(uid) == nil {
			left -= milliCPU(p.object)
		}
	}
	return left
}

// toCome is what those ask for that a plan expects on a node and that are not there.
func (s *state) toCome(node string, plan *planLife, final *state) (total int64) {
	came := map[types.UID]int{} // by controller, since the plan was made
	for _, p := range s.pods {
		if !p.gone && p.object.Spec.NodeName == node && p.since.After(plan.since) {
			came[controllerOf(p.object)]++
		}
	}
	for i := range plan.object.Spec.Steps {
		step := &plan.object.Spec.Steps[i]
		if step.To != node {
			continue
		}
		came[step.Controller.UID]--
		if came[step.Controller.UID] < 0 && plan.object.Step(i).Phase != v1alpha1.StepMoved {
			total += step.Replacement.Spec.Containers[0].Resources.Requests.Cpu().MilliValue()
		}
	}
	for _, b := range plan.object.Spec.Beneficiaries {
		if p := s.pods[b.UID]; b.Node == node && p != nil && p.bound.IsZero() && p.leaves.IsZero() && final.mayTake(&b) {
			total += milliCPU(p.object)
		}
	}
	return total
}

// mayTake says that a pending pod is bound to the place that was made for it, or to none. Members of
// a gang are given their places together, and may get those of each other: the room of one is
// given up when it is known to go elsewhere, which is told only once it is there.
func (s *state) mayTake(b *v1alpha1.Beneficiary) bool {
	node := s.pods[b.UID].object.Spec.NodeName
	return b.Gang == "" || node == "" || node == b.Node
}

// words are what a pending pod says of itself.
func words(pod *corev1.Pod) string {
	text := ""
	if node := pod.Status.NominatedNodeName; node != "" {
		text = "nominated to " + node + "; "
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled {
			text += c.Message
		}
	}
	return text
}

func isMember(pod *corev1.Pod) bool {
	_, _, member := schedulingv1alpha1.GroupLabel(pod.Labels)
	return member
}
