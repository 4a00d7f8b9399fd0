package reschedulerfaults

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// judgeRates holds evictions against rates and cool-downs. Those of plans that somebody has
// deleted are forgotten: they are counted off the plans.
func (s *story) judgeRates() (findings []finding) {
	var earlier []move
	for _, m := range s.moves(s.final) {
		if m.plan == nil || m.plan.gone {
			continue
		}
		findings = append(findings, s.judgeRate("all", s.budgets.rate, earlier, m, func(move) bool { return true })...)
		if isWeb(m) {
			findings = append(findings, s.judgeRate(tierWeb, s.budgets.webRate, earlier, m, isWeb)...)
		}
		for _, before := range earlier {
			passed := m.answered.Sub(before.answered) + slack
			if before.plan == m.plan {
				continue
			}
			if before.step.Controller.UID == m.step.Controller.UID && passed < s.budgets.workloadCoolDown {
				findings = append(
					findings,
					finding{
						cooling,
						fmt.Sprintf(
							"pod %s by plan %s, %s after pod %s of the same workload", m.pod, m.plan.object.Name,
							m.answered.Sub(before.answered).Round(time.Millisecond), before.pod,
						),
					},
				)
			}
			if before.step.From == m.step.From && passed < s.budgets.nodeCoolDown {
				findings = append(
					findings,
					finding{
						cooling,
						fmt.Sprintf(
							"pod %s by plan %s, %s after pod %s of the same node", m.pod, m.plan.object.Name,
							m.answered.Sub(before.answered).Round(time.Millisecond), before.pod,
						),
					},
				)
			}
		}
		earlier = append(earlier, m)
	}
	return findings
}

func isWeb(m move) bool { return m.step.Replacement.Labels[tierLabel] == tierWeb }

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
