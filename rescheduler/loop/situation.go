package loop

import (
	"slices"
	"time"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/rescheduler/planner"
	"muster.dev/muster/rescheduler/policy"
)

// situation is that of the cluster now, for a policy. Those wait that have done so for long enough.
func (l *loop) situation(of v1alpha1.Policy) policy.Situation {
	past := l.record.Evictions()
	cooling, rules := l.limits.Cooling(past), l.rules
	rules.Unless = func(pod *cluster.Pod, node *cluster.Node) string {
		return cooling.Why(pod, node.Name, l.clock.Now())
	}
	problem := planner.Problem{
		Gangs: l.gangs, Rules: rules, Budgets: l.budgets(of, past), Limits: planner.Limits{Time: l.config.PlanTime.Duration}, Clock: l.clock,
	}
	for _, store := range l.profiles.Stores() {
		problem.Profiles = append(problem.Profiles, store.Profile)
	}
	s := policy.Of(l.cluster, problem)
	s.Waiting = l.ripe(s.Waiting)
	return s
}

// ripe are those of the pods that have waited for long enough, and that kube-scheduler has refused or
// muster keeps from it. A gang has when its first pod has: it is placed whole, and so are those that
// came later.
func (l *loop) ripe(waiting []*cluster.Pod) []*cluster.Pod {
	first := map[membership.Key]time.Time{}
	for _, pod := range waiting {
		if key, member := membership.Of(pod.Pod); member {
			if since, known := first[key]; !known || pod.CreationTimestamp.Time.Before(since) {
				first[key] = pod.CreationTimestamp.Time
			}
		}
	}
	return slices.DeleteFunc(waiting, func(pod *cluster.Pod) bool {
		since := pod.CreationTimestamp.Time
		if key, member := membership.Of(pod.Pod); member {
			since = first[key]
		}
		return l.clock.Since(since) < l.config.MakeRoom.PendingFor.Duration || !pod.Unschedulable() && !membership.Gated(pod.Pod)
	})
}
