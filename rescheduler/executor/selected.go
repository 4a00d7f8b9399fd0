package executor

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/rescheduler/evictions"
	"muster.dev/muster/rescheduler/planner"
)

// Selected bounds evictions of pods that a selector matches.
type Selected struct {
	Name      string // for people
	Namespace string // "" for all
	Selector  labels.Selector
	// Policies are the policies whose plans it bounds: all if there is none.
	Policies []v1alpha1.Policy
	// TopologyKey, unless it is "", has the pods of each domain counted alone: the pods on nodes with the same
	// value of this label. Nodes without it are a domain of their own, whose name is "".
	TopologyKey string
	Rate        Rate
	// MaxDown is how many of the pods may be down at once: not ready, or without a node. The one that is evicted is one
	// of them. In per cent, it is a part of the pods that there are, rounded up. Any number may when it is nil.
	MaxDown *intstr.IntOrString
	// Windows are when the pods may be evicted; at any time without one.
	Windows []Window
}

// Binds reports whether it bounds plans of a policy.
func (s *Selected) Binds(policy v1alpha1.Policy) bool {
	return len(s.Policies) == 0 || slices.Contains(s.Policies, policy)
}

// open reports whether the pods may be evicted at that time.
func (s *Selected) open(now time.Time) bool { return within(s.Windows, now) }

// domain returns the topology domain of a node, "" if there is no such node.
func (s *Selected) domain(snap *cluster.Snapshot, name string) string {
	if node := snap.NodeByName(name); node != nil {
		return node.Labels[s.TopologyKey]
	}
	return ""
}

func (s *Selected) matches(namespace string, set map[string]string) bool {
	return (s.Namespace == "" || s.Namespace == namespace) && s.Selector.Matches(labels.Set(set))
}

// binds reports whether the eviction of a step counts for the budget.
func (s *Selected) binds(plan *v1alpha1.ReschedulingPlan, step *v1alpha1.Step) bool {
	return s.Binds(plan.Spec.Policy) && s.matches(step.Pod.Namespace, step.Replacement.Labels)
}

// key names the budget of a domain among all of them, in the record of evictions.
func (s *Selected) key(domain string) string {
	var key strings.Builder
	key.WriteString(s.Namespace + "/" + s.Name)
	if s.TopologyKey != "" {
		key.WriteString(";" + s.TopologyKey + "=" + domain)
	}
	if len(s.Policies) > 0 {
		key.WriteString(";" + s.policies())
	}
	return key.String()
}

// budgets returns the keys of the budgets that a step counts for.
func (l *Limits) budgets(plan *v1alpha1.ReschedulingPlan, step *v1alpha1.Step, snap *cluster.Snapshot) (keys []string) {
	for i := range l.Selected {
		if s := &l.Selected[i]; s.binds(plan, step) {
			keys = append(keys, s.key(s.domain(snap, step.From)))
		}
	}
	return keys
}

// forbidden says why a step must wait for a budget of pods that a selector matches, "" when it
// need not. A gang that has begun to move goes on when a window closes.
func (e *Executor) forbidden(plan *v1alpha1.ReschedulingPlan, at int, past []evictions.Eviction, now time.Time) string {
	l, step := &e.Limits, &plan.Spec.Steps[at]
	for i := range l.Selected {
		s := &l.Selected[i]
		if !s.binds(plan, step) {
			continue
		}
		domain := s.domain(e.Cluster.Snapshot(), step.From)
		if !s.open(now) && !partsGang(plan, at) {
			return s.awaitsWindow()
		}
		if s.RateLeft(domain, past, now) == 0 {
			return fmt.Sprintf("waits: there were %d evictions of pods with %s in %s", s.Rate.Evictions, s.said(domain), s.Rate.Per)
		}
		if s.MaxDown == nil {
			continue
		}
		if most, down := s.mayBeDown(e.Cluster, domain); down+1 > most {
			return fmt.Sprintf("waits: of the pods with %s, at most %d may be down", s.said(domain), most)
		}
	}
	return ""
}

// policies returns the names of the policies whose plans it bounds, with commas.
func (s *Selected) policies() string {
	names := make([]string, 0, len(s.Policies))
	for _, policy := range s.Policies {
		names = append(names, string(policy))
	}
	return strings.Join(names, ",")
}

func (s *Selected) awaitsWindow() string {
	return "waits for a maintenance window of pods with " + s.Name
}

// said names the pods of a domain, for people.
func (s *Selected) said(domain string) string {
	if s.TopologyKey == "" {
		return s.Name
	}
	return fmt.Sprintf("%s where %s is %q", s.Name, s.TopologyKey, domain)
}

// RateLeft returns how many evictions of the pods of a domain their rate allows now, or [AnyNumber].
func (s *Selected) RateLeft(domain string, past []evictions.Eviction, now time.Time) int {
	key := s.key(domain)
	return s.Rate.left(past, now, func(e evictions.Eviction) bool { return slices.Contains(e.Budgets, key) })
}

// Budget returns how many of the pods a plan that is made now may evict, and false if it may evict any number.
// The limit on pods that are down at once bounds no plan, unless it is zero: a plan takes one pod after the
// other. Windows bound a plan that is to begin at once.
func (s *Selected) Budget(past []evictions.Eviction, now time.Time, begins bool) (planner.SelectedBudget, bool) {
	none := false
	if s.MaxDown != nil {
		most, _ := intstr.GetScaledValueFromIntOrPercent(s.MaxDown, 1, true)
		none = most == 0
	}
	b := planner.SelectedBudget{Namespace: s.Namespace, Selector: s.Selector, TopologyKey: s.TopologyKey}
	b.Evictions = func(domain string) int {
		if none || begins && !s.open(now) {
			return 0
		}
		if left := s.RateLeft(domain, past, now); left != AnyNumber {
			return left
		}
		return planner.AnyNumber
	}
	return b, none || len(s.Windows) > 0 || s.Rate.Evictions > 0
}

// mayBeDown returns how many of the pods of a domain may be down at once, and how many are.
func (s *Selected) mayBeDown(c *cluster.Cluster, domain string) (most, down int) {
	total, down := s.count(c, domain)
	most, _ = intstr.GetScaledValueFromIntOrPercent(s.MaxDown, total, true) // validation has refused what is neither
	return most, down
}

// count counts the pods that a selector matches in a domain, and how many of them do not run. Pods without a
// node count in every domain, as it is not known where they will run.
func (s *Selected) count(c *cluster.Cluster, domain string) (total, down int) {
	count := func(pod *cluster.Pod) {
		if !s.matches(pod.Namespace, pod.Labels) {
			return
		}
		if total++; !pod.Ready() || pod.DeletionTimestamp != nil {
			down++
		}
	}
	for _, pod := range c.Pending() { // before the others: one that is bound meanwhile counts twice, not never
		count(pod)
	}
	for _, pod := range c.Orphans() {
		count(pod)
	}
	for node := range c.Snapshot().Nodes() {
		if s.TopologyKey != "" && node.Labels[s.TopologyKey] != domain {
			continue
		}
		for _, pod := range node.Pods {
			if pod.Spec.NodeName != "" { // else it is pending, or held
				count(pod)
			}
		}
	}
	return total, down
}

// domains lists the domains of the nodes, in order.
func (s *Selected) domains(snap *cluster.Snapshot) []string {
	if s.TopologyKey == "" {
		return []string{""}
	}
	domains := map[string]bool{}
	for node := range snap.Nodes() {
		domains[node.Labels[s.TopologyKey]] = true
	}
	return slices.Sorted(maps.Keys(domains))
}
