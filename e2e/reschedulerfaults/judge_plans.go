package reschedulerfaults

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/api/rescheduling/v1alpha1"
)

// judgePlans holds plans against their end.
func (s *story) judgePlans() (findings []finding) {
	for _, uid := range slices.Sorted(maps.Keys(s.final.plans)) {
		p := s.final.plans[uid]
		expires := p.expires() // whoever leads next may have a clock that is behind
		if until := cmp.Or(p.ended, s.end); until.After(expires.Add(endSlack + s.mostApart())) {
			findings = append(findings, finding{neverEnds, fmt.Sprintf("plan %s is %s %s after it has expired: %s",
				p.object.Name, p.object.Status.Phase, until.Sub(expires).Round(time.Millisecond), p.object.Status.Message)})
		}
		if p.object.Ended() && p.object.Status.Message == "" {
			findings = append(findings, finding{wordless, fmt.Sprintf("plan %s", p.object.Name)})
		}
		if b := s.budgets; b.perPlan > 0 && len(p.object.Spec.Steps) > b.perPlan {
			findings = append(
				findings, finding{overBudget, fmt.Sprintf("plan %s has %d steps, of %d per plan", p.object.Name, len(p.object.Spec.Steps), b.perPlan)},
			)
		}
		ofNode, ofWorkload := map[string]int{}, map[types.UID]int{}
		for i := range p.object.Spec.Steps {
			step := &p.object.Spec.Steps[i]
			ofNode[step.From]++
			ofWorkload[step.Controller.UID]++
			if n := ofNode[step.From]; s.budgets.perNode > 0 && n > s.budgets.perNode {
				findings = append(
					findings, finding{overBudget, fmt.Sprintf("plan %s moves %d pods of node %s, of %d", p.object.Name, n, step.From, s.budgets.perNode)},
				)
			}
			if n := ofWorkload[step.Controller.UID]; s.budgets.perWorkload > 0 && n > s.budgets.perWorkload {
				findings = append(
					findings,
					finding{overBudget, fmt.Sprintf("plan %s moves %d pods of %s, of %d", p.object.Name, n, step.Controller.Name, s.budgets.perWorkload)},
				)
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
			findings = append(findings, finding{withoutPlan, fmt.Sprintf("pod %s is evicted by its name alone", e.pod)})
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
				finding{
					nowhere,
					fmt.Sprintf(
						"pod %s is evicted to go to %s, which was closed %s before", pod.Name, to.object.Name, e.asked.Sub(to.closed).Round(time.Millisecond),
					),
				},
			)
		}
		if !before.isAboutToEvict(pod.UID, e.asked) {
			findings = append(
				findings, finding{withoutPlan, fmt.Sprintf("no plan whose room is kept says that pod %s is about to be evicted", pod.Name)},
			)
		}
		for _, budget := range before.budgets {
			if budget.Spec.Selector.MatchLabels[appLabel] == pod.Labels[appLabel] && isReady(before.pods[pod.UID].object) && !entered.Has(pod.Name) {
				findings = append(
					findings, finding{budgetIgnored, fmt.Sprintf("pod %s is evicted, and budget %s does not know", pod.Name, budget.Name)},
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

// judgeReplicas holds evictions of one replica against those of others.
func (s *story) judgeReplicas() (findings []finding) {
	for i, a := range s.evictions {
		for _, b := range s.evictions[:i] {
			if a.granted && b.granted && a.replica != b.replica && a.uid != b.uid && a.asked.Before(b.answered) && b.asked.Before(a.answered) {
				findings = append(findings, finding{bothEvict, fmt.Sprintf("pod %s and pod %s", a.pod, b.pod)})
			}
		}
	}
	return findings
}
