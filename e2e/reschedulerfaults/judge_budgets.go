package reschedulerfaults

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// judgeRates holds evictions against rates and cool-downs. Each one counts that the API server has granted, by the pod that it
// was of, though its plan may be gone.
func (s *story) judgeRates() (findings []finding) {
	var earlier []move
	for _, m := range s.moves(s.final) {
		if m.life == nil {
			continue // nothing is known of the pod; judgeEvictions finds an eviction by name alone
		}
		findings = append(findings, s.judgeRate("all", s.budgets.rate, earlier, m, func(move) bool { return true })...)
		if isWeb(m) {
			findings = append(findings, s.judgeRate(tierWeb, s.budgets.webRate, earlier, m, isWeb)...)
		}
		for _, before := range earlier {
			findings = append(findings, s.judgeCoolDown(before, m)...)
		}
		earlier = append(earlier, m)
	}
	return findings
}

// judgeCoolDown holds an eviction against one before it, of another plan.
func (s *story) judgeCoolDown(before, m move) (findings []finding) {
	if m.plan != nil && before.plan == m.plan {
		return nil
	}
	passed := m.answered.Sub(before.answered)
	tell := func(same string) {
		findings = append(findings, finding{cooling, fmt.Sprintf(
			"pod %s by %s, %s after pod %s of the same %s by %s",
			m.pod, m.plan.name(), passed.Round(time.Millisecond), before.pod, same, before.plan.name(),
		)})
	}
	controller := controllerOf(m.life.object)
	if controller != "" && controllerOf(before.life.object) == controller && passed+slack < s.budgets.workloadCoolDown {
		tell("workload")
	}
	if before.life.object.Spec.NodeName == m.life.object.Spec.NodeName && passed+slack < s.budgets.nodeCoolDown {
		tell("node")
	}
	return findings
}

// name is what the plan is called in findings.
func (p *planLife) name() string {
	switch {
	case p == nil:
		return "no plan"
	case p.gone:
		return "plan " + p.object.Name + ", which is deleted"
	}
	return "plan " + p.object.Name
}

func isWeb(m move) bool { return m.life.object.Labels[tierLabel] == tierWeb }

func (s *story) judgeRate(name string, r rate, earlier []move, m move, counts func(move) bool) []finding {
	recent := 1
	for _, before := range earlier {
		if counts(before) && m.answered.Sub(before.answered)+slack < r.per {
			recent++
		}
	}
	if r.evictions == 0 || recent <= r.evictions {
		return nil
	}
	return []finding{{overBudget, fmt.Sprintf("pod %s is the eviction %d of %s in %s, of %d", m.pod, recent, name, r.per, r.evictions)}}
}

// judgeDown holds each eviction of a pod of a tier against how many others were down then, and
// had been for long enough to be known.
func (s *story) judgeDown() (findings []finding) {
	if s.budgets.webDown == 0 {
		return nil
	}
	for pod, before := range s.leaving() {
		e := s.granted(pod.UID)
		if e == nil || pod.Labels[tierLabel] != tierWeb {
			continue
		}
		if down := 1 + before.down(pod.UID, e.asked.Add(-slack)); down > s.budgets.webDown {
			findings = append(
				findings,
				finding{overBudget, fmt.Sprintf("pod %s is the number %d of %s that is down, of %d", pod.Name, down, tierWeb, s.budgets.webDown)},
			)
		}
	}
	return findings
}

// down is how many other pods of the tier were down before a time.
func (s *state) down(but types.UID, before time.Time) (down int) {
	for uid, p := range s.pods {
		if uid != but && !p.gone && p.object.Labels[tierLabel] == tierWeb && !p.downSince.IsZero() && p.downSince.Before(before) {
			down++
		}
	}
	return down
}
