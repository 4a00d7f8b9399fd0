package loop

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/rescheduler/evictions"
	"muster.dev/muster/rescheduler/executor"
	"muster.dev/muster/rescheduler/planner"
	"muster.dev/muster/rescheduler/policy"
)

func limits(c *config.Rescheduler) executor.Limits {
	l := executor.Limits{
		ReplacementTimeout: c.ReplacementTimeout.Duration, Rate: rate(c.Budgets.Rate),
		WorkloadCoolDown: c.Budgets.WorkloadCoolDown.Duration, NodeCoolDown: c.Budgets.NodeCoolDown(),
	}
	for i := range c.Budgets.Selected {
		s := &c.Budgets.Selected[i]
		if s.OfAllPods() && len(l.Windows) == 0 {
			l.Windows = windows(s.Windows)
			continue
		}
		l.Selected = append(l.Selected, executor.Selected{
			Name: s.Selector, Namespace: s.Namespace, Selector: policy.Selector(s.Selector), Policies: s.Policies, TopologyKey: s.TopologyKey,
			Rate: rate(s.Rate), MaxDown: s.MaxDown, Windows: windows(s.Windows),
		})
	}
	return l
}

func windows(configured []config.MaintenanceWindow) (all []executor.Window) {
	for _, w := range configured {
		zone, err := time.LoadLocation(w.TimeZone)
		if err != nil {
			zone = time.UTC // validation has refused it
		}
		from, to := w.Times()
		all = append(all, executor.Window{From: from, To: to, Days: w.Weekdays(), Zone: zone})
	}
	return all
}

func rate(c config.EvictionRate) executor.Rate {
	return executor.Rate{Evictions: int(c.Evictions), Per: c.Per.Duration}
}

// budgets returns the budgets of one plan by a policy. A selected budget that lets a number of pods be down
// allows that number of evictions, one after the other: the executor counts the pods that are down. A plan that
// is to begin at once gets the present rest of the rates, another one what they allow at most.
func (l *Loop) budgets(policy v1alpha1.Policy, past []evictions.Eviction) planner.Budgets {
	c, now := &l.config.Budgets, l.clock.Now()
	if l.config.Mode != v1alpha1.Auto {
		past = nil
	}
	b := planner.Budgets{
		Total: int(c.PerPlan),
	}
	if most := c.PerWorkload; most.Type == intstr.String {
		b.PerWorkloadPercent, _ = intstr.GetScaledValueFromIntOrPercent(&most, 100, false) // validation has refused what is neither
	} else {
		b.PerWorkload = most.IntValue()
	}
	if left := l.limits.RateLeft(past, now); left > 0 && (b.Total == 0 || left < b.Total) {
		b.Total = left
	}
	for i := range l.limits.Selected {
		s := &l.limits.Selected[i]
		if !s.Binds(policy) {
			continue
		}
		if budget, bounded := s.Budget(past, now, l.config.Mode == v1alpha1.Auto); bounded {
			b.Selected = append(b.Selected, budget)
		}
	}
	return b
}

// mustWait says why a plan that is made now could not begin, whatever it is, "" when it could.
func (l *Loop) mustWait(past []evictions.Eviction) string {
	now := l.clock.Now()
	switch {
	case l.config.Mode != v1alpha1.Auto:
		return ""
	case !l.record.Ready():
		return evictions.ErrUnread.Error()
	case !l.limits.Open(now):
		return "it is not the time of a maintenance window"
	case l.limits.RateLeft(past, now) == 0:
		return fmt.Sprintf("there were %d evictions in %s", l.limits.Rate.Evictions, l.limits.Rate.Per)
	}
	return ""
}
