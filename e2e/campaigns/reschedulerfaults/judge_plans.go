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
	schedulingv1alpha1 "muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/campaigns/faultcampaign"
)

// judgePlans holds plans against their end.
func (s *story) judgePlans() (findings []finding) {
	for _, uid := range slices.Sorted(maps.Keys(s.final.plans)) {
		p := s.final.plans[uid]
		expires := p.expires() // the next leader may have a clock that is behind
		if until := cmp.Or(p.ended, s.end); until.After(expires.Add(endSlack + s.mostApart())) {
			findings = append(findings, faultcampaign.Found(
				neverEnds, "plan %s is %s %s after it has expired: %s",
				p.object.Name, p.object.Status.Phase, until.Sub(expires).Round(time.Millisecond), p.object.Status.Message,
			))
		}
		if p.object.Ended() && p.object.Status.Message == "" {
			findings = append(findings, faultcampaign.Found(wordless, "plan %s", p.object.Name))
		}
		if b := s.budgets; b.perPlan > 0 && len(p.object.Spec.Steps) > b.perPlan {
			findings = append(
				findings, faultcampaign.Found(overBudget, "plan %s has %d steps, of %d per plan", p.object.Name, len(p.object.Spec.Steps), b.perPlan),
			)
		}
		ofWorkload := map[types.UID]int{}
		for i := range p.object.Spec.Steps {
			step := &p.object.Spec.Steps[i]
			ofWorkload[step.Controller.UID]++
			if n := ofWorkload[step.Controller.UID]; s.budgets.perWorkload > 0 && n > s.budgets.perWorkload {
				findings = append(findings, faultcampaign.Found(
					overBudget, "plan %s moves %d pods of %s, of %d", p.object.Name, n, step.Controller.Name, s.budgets.perWorkload,
				))
			}
		}
	}
	return findings
}

// judgeEvictions holds each eviction against the plan that says it was about to happen, and
// against the budget of the pod: the API server enters there who it lets go.
func (s *story) judgeEvictions() (findings []finding) {
	for _, e := range s.evictions {
		if e.granted && e.uid == "" {
			findings = append(findings, faultcampaign.Found(withoutPlan, "pod %s is evicted by its name alone", e.pod))
		}
	}
	entered := s.entered()
	for pod, before := range s.leaving() {
		e := s.granted(pod.UID)
		if e == nil {
			continue
		}
		if to := before.goal(pod.UID); to != nil && !to.closed.IsZero() && e.asked.Sub(to.closed) > slack {
			findings = append(
				findings,
				faultcampaign.Found(
					nowhere, "pod %s is evicted to go to %s, which was closed %s before",
					pod.Name, to.object.Name, e.asked.Sub(to.closed).Round(time.Millisecond),
				),
			)
		}
		if !before.isAboutToEvict(pod.UID, e.asked) {
			findings = append(
				findings, faultcampaign.Found(withoutPlan, "no plan whose room is kept says that pod %s is about to be evicted", pod.Name),
			)
		}
		for _, budget := range before.budgets {
			if budget.Spec.Selector.MatchLabels[appLabel] == pod.Labels[appLabel] && isReady(before.pods[pod.UID].object) && !entered.Has(pod.Name) {
				findings = append(
					findings, faultcampaign.Found(budgetIgnored, "pod %s is evicted, and budget %s does not know", pod.Name, budget.Name),
				)
			}
		}
	}
	return findings
}

// goal is the node that a plan which is about to evict a pod has it replaced on, nil for none that is known.
func (s *state) goal(uid types.UID) *nodeLife {
	for _, p := range s.plans {
		if step := p.step(uid); step != nil && p.ended.IsZero() && p.evicts(uid) {
			return s.nodes[step.To]
		}
	}
	return nil
}

// entered are the pods that budgets say were let go.
func (s *story) entered() sets.Set[string] {
	pods := sets.New[string]()
	for _, e := range s.entries {
		if e.budget != nil {
			pods.Insert(slices.Collect(maps.Keys(e.budget.Status.DisruptedPods))...)
		}
	}
	return pods
}

// isAboutToEvict says that a plan says so of a pod, and muster that it keeps the room of the plan. One that has ended or was
// deleted for long says nothing.
func (s *state) isAboutToEvict(uid types.UID, asked time.Time) bool {
	for _, p := range s.plans {
		if p.endedBy(asked.Add(-frozen)) {
			continue
		}
		for i := range p.object.Spec.Steps {
			if p.object.Spec.Steps[i].Pod.UID == uid && p.object.Step(i).Phase == v1alpha1.StepEvicting && p.object.IsReserved() {
				return true
			}
		}
	}
	return false
}

// judgeReplicas compares the evictions of one replica with the others'.
func (s *story) judgeReplicas() (findings []finding) {
	for i, a := range s.evictions {
		for _, b := range s.evictions[:i] {
			if a.granted && b.granted && a.replica != b.replica && a.uid != b.uid && a.asked.Before(b.answered) && b.asked.Before(a.answered) {
				findings = append(findings, faultcampaign.Found(bothEvict, "pod %s and pod %s", a.pod, b.pod))
			}
		}
	}
	return findings
}

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
					faultcampaign.Found(
						returned, "pod %s, which came for %s, is bound to %s in the middle of plan %s", e.pod.Name, m.pod, m.step.From, m.plan.object.Name,
					),
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
						faultcampaign.Found(
							stolen, "pod %s of %dm is bound to %s, where plan %s leaves %dm", e.pod.Name, milliCPU(e.pod), node, p.object.Name, left,
						),
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

// room returns the part of a node that a plan leaves: without the pods that are to leave it, and with
// the pods that are to come.
func (s *state) room(node string, plan *planLife, final *state) int64 {
	left := s.nodes[node].object.Status.Allocatable.Cpu().MilliValue() - s.toCome(node, plan, final)
	for uid, p := range s.pods {
		if !p.gone && !finished(p.object) && p.object.Spec.NodeName == node && plan.step(uid) == nil {
			left -= milliCPU(p.object)
		}
	}
	return left
}

// toCome returns the sum of the requests of pods that a plan expects on a node and that are not there.
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
// a gang are given their places together, and may take each other's: the room of one is given up
// when the member is known to go elsewhere, which is told only once it is there.
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

// judgeMarks looks for marks on nodes that have no plan behind them at the end.
func (s *story) judgeMarks() (findings []finding) {
	for _, text := range s.final.marksLeft(s.end.Add(-s.mostApart())) {
		findings = append(findings, faultcampaign.Found(markLeft, "%s", text))
	}
	return findings
}

// marksLeft are marks that should have been taken off: of a plan that has ended or is gone, of an emptied node that is not
// empty, and of one that was to be open again. A node is to be open by a clock that may be ahead of this one.
func (s *state) marksLeft(now time.Time) (left []string) {
	for _, name := range slices.Sorted(maps.Keys(s.nodes)) {
		if n := s.nodes[name]; !n.gone {
			if why := s.markLeft(n.object, now); why != "" {
				left = append(left, fmt.Sprintf("node %s %s", name, why))
			}
		}
	}
	return left
}

func (s *state) markLeft(node *corev1.Node, now time.Time) string {
	emptying, emptied := node.Annotations[v1alpha1.AnnotationEmptying], node.Annotations[v1alpha1.AnnotationEmptied]
	closed := node.Annotations[v1alpha1.AnnotationCordoned] != "" ||
		slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == v1alpha1.TaintClosed })
	switch {
	case emptying != "" && !s.empties(emptying):
		return "is being emptied by " + emptying + ", which does not"
	case emptied != "" && !s.isEmpty(node.Name):
		return "has been emptied by " + emptied + ", and is not empty"
	case closed && emptying == "" && emptied == "":
		return "is closed for no plan"
	case closed && emptied != "":
		until, err := time.Parse(time.RFC3339, node.Annotations[v1alpha1.AnnotationClosedUntil])
		if err != nil || now.After(until.Add(slack)) {
			return "was to be open since " + node.Annotations[v1alpha1.AnnotationClosedUntil]
		}
	}
	return ""
}

// empties says that the plan of a name is there, and has not ended.
func (s *state) empties(name string) bool {
	for _, p := range s.plans {
		if p.object.Name == name && !p.gone {
			return !p.object.Ended()
		}
	}
	return false
}

func (s *state) isEmpty(node string) bool {
	for _, p := range s.pods {
		if !p.gone && p.object.Spec.NodeName == node && !finished(p.object) {
			return false
		}
	}
	return true
}
