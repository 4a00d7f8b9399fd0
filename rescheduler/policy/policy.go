// Package policy holds the reasons to move pods. A [Policy] looks at a cluster, says who should
// get a place, leave one or give one up, and has the planner work out how. The rescheduler's
// loop and its preview run the same ones.
package policy

import (
	"fmt"
	"time"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/loadaware"
	"muster.dev/muster/rescheduler/planner"
)

// Policy is a reason to move pods.
type Policy struct {
	Name    v1alpha1.Policy
	Enabled bool
	// Plan looks for something to do. It returns a plan, nil when there was no need to search
	// for one, and in words why no pod is to move, "" when one is. It is for one goroutine.
	Plan func(Situation) (plan *planner.Plan, why string)
}

// Measured has the measurements that policies on the use of nodes need. Policies that are not enabled need
// none.
type Measured struct {
	Hot    *Hot // for Relieve
	Uneven *Hot // for Balance
}

// NewMeasured returns the measurements that the enabled policies of a configuration need. Nothing is measured yet.
func NewMeasured(c *config.Configuration, o loadaware.Options) (m Measured) {
	relieve, balance := &c.Rescheduler.Relieve, &c.Rescheduler.Balance
	if relieve.Enabled {
		m.Hot = NewHot(relieve, NewMeter(c, o), HotSamples)
	}
	if balance.Enabled {
		m.Uneven = NewUneven(balance, NewMeter(c, o), UnevenSamples)
	}
	return m
}

// Expirations returns the ages at which what was measured is not believed any more.
func (m *Measured) Expirations() (ages []time.Duration) {
	for _, hot := range []*Hot{m.Hot, m.Uneven} {
		if hot != nil {
			ages = append(ages, hot.meter.Expiration())
		}
	}
	return ages
}

// Observe looks at what was measured since the last time; see [Hot.Observe].
func (m *Measured) Observe(snap *cluster.Snapshot, evicted func(node string) time.Time) {
	for _, hot := range []*Hot{m.Hot, m.Uneven} {
		if hot != nil {
			hot.Observe(snap, evicted)
		}
	}
}

// Any reports whether there is something to observe.
func (m *Measured) Any() bool { return m.Hot != nil || m.Uneven != nil }

// All returns the policies of a valid configuration. The first one is planned for first, and while its plan is
// carried out no other is. They may remember what they saw, so they are made once.
func All(c *config.Rescheduler, by Measured) []Policy {
	return []Policy{
		{v1alpha1.MakeRoom, c.MakeRoom.Enabled, makeRoom},
		{v1alpha1.Separate, c.Separate.Enabled, separate},
		{v1alpha1.Repair, c.Repair.Enabled(), repair(&c.Repair)},
		{v1alpha1.Relieve, c.Relieve.Enabled, relieve(&c.Budgets, by.Hot)},
		{v1alpha1.Balance, c.Balance.Enabled, balanced(&c.Budgets, by.Uneven)},
		{v1alpha1.Respread, c.Respread.Enabled, respread(&c.Respread)},
		// Before Coalesce, which would spend evictions and room on nodes wherever they are. It puts nothing onto
		// empty nodes, so what was freed stays free.
		{v1alpha1.FreeDomains, c.FreeDomains.Enabled(), freeDomains(&c.FreeDomains)},
		{v1alpha1.Coalesce, c.Coalesce.Enabled, coalesce(&c.Budgets)},
	}
}

// Names returns the names of all policies.
func Names() (names []v1alpha1.Policy) {
	for _, p := range All(&config.Rescheduler{}, Measured{}) {
		names = append(names, p.Name)
	}
	return names
}

// Named returns the policy of a name, whether it is enabled or not.
func Named(c *config.Rescheduler, by Measured, name v1alpha1.Policy) (Policy, error) {
	for _, p := range All(c, by) {
		if p.Name == name {
			return p, nil
		}
	}
	return Policy{}, fmt.Errorf("policy %q: want one of %v", name, Names())
}

// makeRoom gives pods a place that wait for one.
func makeRoom(s Situation) (*planner.Plan, string) {
	if len(s.Waiting) == 0 {
		return nil, "no pod waits for long enough"
	}
	plan := s.Problem.MakeRoom(s.Problem.Pending(s.Waiting))
	switch {
	case len(plan.Steps) > 0:
		return plan, ""
	case len(plan.Unplaced) > 0:
		return plan, fmt.Sprintf("no plan for %d of the waiting pods; of %s", len(plan.Unplaced), first(plan.Unplaced))
	default:
		return plan, "the waiting pods have room"
	}
}

// coalesce empties nodes.
func coalesce(c *config.DisruptionBudgets) func(Situation) (*planner.Plan, string) {
	return func(s Situation) (*planner.Plan, string) {
		plan := s.Problem.Coalesce(nil, int(c.NodesPerPlan))
		switch {
		case len(plan.Steps) > 0:
			return plan, ""
		case len(plan.Kept) > 0:
			return plan, "no node can be emptied; of " + first(plan.Kept)
		default:
			return plan, "there is no node to empty"
		}
	}
}

// relocate finds other places for pods that are to leave their nodes. what says in words what
// they have in common.
func relocate(s Situation, wishes []planner.Wish, what string) (*planner.Plan, string) {
	if len(wishes) == 0 {
		return nil, "there are no pods that " + what
	}
	plan := s.Problem.Relocate(wishes)
	if len(plan.Steps) > 0 {
		return plan, ""
	}
	if len(plan.Unmoved) == 0 {
		return plan, "only pods that are being deleted keep others from their places"
	}
	return plan, fmt.Sprintf("no plan for the %d pods that %s; of %s", len(plan.Unmoved), what, first(plan.Unmoved))
}

func first(refusals []planner.Refusal) string { return refusals[0].Name + ": " + refusals[0].Reason }

// Situation is the situation that policies look at.
type Situation struct {
	// Problem is the cluster, and what may be done about it.
	Problem *planner.Problem
	// Waiting are the pending pods that no room is coming for, in the order of their names.
	Waiting []*cluster.Pod
	// Pending is how many pods have no node, those included that room is coming for.
	Pending int
}

// Of returns the situation of a cluster, by the rules of a problem. Pods that are nominated to a
// node have room coming there, which the problem holds for them.
func Of(c *cluster.Cluster, problem planner.Problem) Situation {
	problem.Snapshot = c.Snapshot()
	s := Situation{Problem: &problem}
	for _, pod := range c.Nominated() { // also what others gate: kube-scheduler leaves its room to it
		if node := problem.Snapshot.NodeByName(pod.Status.NominatedNodeName); node != nil {
			problem.Reserved = append(problem.Reserved, planner.Reservation{Pod: pod, Node: node.Index})
		}
	}
	for _, pod := range planner.Waiting(c) {
		s.Pending++
		if problem.Snapshot.NodeByName(pod.Status.NominatedNodeName) == nil {
			s.Waiting = append(s.Waiting, pod)
		}
	}
	return s
}
