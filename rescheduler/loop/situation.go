package loop

import (
	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/rescheduler/planner"
	"muster.dev/muster/rescheduler/policy"
)

// situation describes the cluster now to a policy. Pods that have been pending for long enough count as waiting.
func (l *Loop) situation(of v1alpha1.Policy) policy.Situation {
	past := l.record.Evictions()
	cooling, rules := l.limits.Cooling(past), l.rules
	rules.Unless = func(pod *cluster.Pod, node *cluster.Node) string {
		return cooling.Why(pod, node.Name, l.clock.Now())
	}
	problem := planner.Problem{
		Gangs: l.gangs, Rules: rules, Budgets: l.budgets(of, past), Limits: planner.Limits{Time: l.config.PlanTime()}, Clock: l.clock,
	}
	for _, store := range l.profiles.Stores() {
		problem.Profiles = append(problem.Profiles, store.Profile)
	}
	s := policy.Of(l.cluster, problem)
	s.Waiting = l.waits.ripe(s.Waiting, l.clock.Now(), l.config.MakeRoom.PendingFor.Duration)
	return s
}
