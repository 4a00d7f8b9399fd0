package planner

import (
	"fmt"
	"math"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

type (
	clusterPod  = cluster.Pod
	clusterNode = cluster.Node
)

type reporter interface{ Fatalf(string, ...any) }

// checkPlan carries a plan out, step by step, on a model of the cluster that shares nothing
// with the search: each step is judged afresh, with all predicates and scores.
func checkPlan(t reporter, problem *Problem, groups []Group, plan *Plan, wishes ...Wish) {
	m, workloads := modelOf(problem), WorkloadsOf(problem.Snapshot)
	evicted := map[string]int{}
	places := plan.Placements
	arrive := func(done int) {
		for len(places) > 0 && places[0].After <= done {
			if why := m.against(places[0].Pod, places[0].Node.Index); why != "" {
				t.Fatalf("after %d steps %s is no place for %s: %s", done, places[0].Node.Name, places[0].Pod.Name, why)
			}
			m.put(places[0].Pod, places[0].Node.Index)
			places = places[1:]
		}
	}
	arrive(0)
	for n, step := range plan.Steps {
		reason := problem.Rules.Protects(step.Pod, step.From, workloads, now())
		if reason != "" {
			t.Fatalf("step %d evicts %s: %s", n, step.Pod.Name, reason)
		}
		if !slices.Contains(m.nodes[step.From.Index].Pods, step.Pod) {
			t.Fatalf("step %d evicts %s, which is not on %s", n, step.Pod.Name, step.From.Name)
		}
		m.nodes[step.From.Index] = m.nodes[step.From.Index].WithoutPod(step.Pod.UID)
		if why := m.against(step.Replacement, step.To.Index); why != "" {
			t.Fatalf("step %d: %s is no place for %s: %s", n, step.To.Name, step.Pod.Name, why)
		}
		checkWish(t, m, step, wishes)
		m.put(step.Replacement, step.To.Index)
		if why := NoTarget(step.To); why != "" {
			t.Fatalf("step %d: %s goes to %s: %s", n, step.Pod.Name, step.To.Name, why)
		}
		if problem.Bars != nil && problem.Bars(step.Pod, step.To) {
			t.Fatalf("step %d: %s is barred from %s", n, step.Pod.Name, step.To.Name)
		}
		count(evicted, problem, step)
		if len(step.For) == 0 && len(plan.Emptied) == 0 && len(wishes) == 0 {
			t.Fatalf("step %d: %s moves for nobody", n, step.Pod.Name)
		}
		if !problem.Rules.AllowHigherPriority && len(plan.Emptied) == 0 && len(wishes) == 0 && !slices.ContainsFunc(step.For, func(at int) bool {
			return corev1helpers.PodPriority(plan.Placements[at].Pod.Pod) >= corev1helpers.PodPriority(step.Pod.Pod)
		}) {
			t.Fatalf("step %d: %s moves for pods of lower priority", n, step.Pod.Name)
		}
		for _, other := range plan.Steps {
			if other.From == step.To && m.profile.AloneAs(other.Replacement) == m.profile.AloneAs(step.Replacement) {
				t.Fatalf("step %d: %s goes where %s, which is like it, leaves", n, step.Pod.Name, other.Pod.Name)
			}
		}
		arrive(n + 1)
	}
	if len(places) > 0 {
		t.Fatalf("%s is to be placed after %d steps, and there are %d", places[0].Pod.Name, places[0].After, len(plan.Steps))
	}
	checkBudgets(t, problem, evicted)
	checkGangs(t, problem, plan)
	checkGroups(t, groups, plan)
	checkWishes(t, problem, wishes, plan)
}

// model is the cluster after some steps.
type model struct {
	snap    *cluster.Snapshot
	profile *predicates.Profile
	nodes   map[int32]*cluster.Node
}

func modelOf(problem *Problem) *model {
	m := &model{snap: problem.Snapshot, profile: problem.Profiles[0], nodes: map[int32]*cluster.Node{}}
	for node := range m.snap.Nodes() {
		m.nodes[node.Index] = node
	}
	for _, hold := range problem.Reserved {
		m.nodes[hold.Node] = m.nodes[hold.Node].WithPod(hold.Pod)
	}
	return m
}

func (m *model) put(pod *cluster.Pod, index int32) { m.nodes[index] = m.nodes[index].WithPod(pod) }

func (m *model) against(pod *cluster.Pod, index int32) string {
	judgement := m.profile.Judge(pod, m.snap)
	for _, node := range m.nodes {
		judgement.Suppose(node)
	}
	return judgement.Reason(judgement.Verdict(m.nodes[index]))
}

// count notes an eviction by all that may be bounded.
func count(evicted map[string]int, problem *Problem, step Step) {
	evicted["total"]++
	evicted["node/"+step.From.Name]++
	evicted["namespace/"+step.Pod.Namespace]++
	evicted["workload/"+string(metav1.GetControllerOfNoCopy(step.Pod.Pod).UID)]++
	for name, budget := range problem.Snapshot.DisruptionBudgets.All() {
		if selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector); err == nil && name.Namespace == step.Pod.Namespace &&
			selector.Matches(labelsOf(step.Pod)) {
			evicted["disruption/"+name.String()]++
		}
	}
	for i, selected := range problem.Budgets.Selected {
		if selected.Selector.Matches(labelsOf(step.Pod)) {
			evicted[fmt.Sprint("selected/", i, "@", step.From.Labels[selected.TopologyKey])]++
		}
	}
}

// podsOf is how many pods of a controller are on nodes.
func podsOf(snap *cluster.Snapshot, controller string) (count int) {
	for node := range snap.Nodes() {
		for _, pod := range node.Pods {
			if owner := metav1.GetControllerOfNoCopy(pod.Pod); owner != nil && string(owner.UID) == controller {
				count++
			}
		}
	}
	return count
}

func checkBudgets(t reporter, problem *Problem, evicted map[string]int) {
	b := problem.Budgets
	for what, n := range evicted {
		bound := 0
		switch kind, name, _ := cut(what); kind {
		case "total":
			bound = b.Total
		case "node":
			bound = b.PerNode
		case "namespace":
			bound = b.PerNamespace
		case "workload":
			bound = b.PerWorkload
			if b.PerWorkloadPercent > 0 {
				share := int(math.Ceil(float64(b.PerWorkloadPercent) / 100 * float64(podsOf(problem.Snapshot, name))))
				if bound == 0 || share < bound {
					bound = share
				}
			}
		case "disruption":
			for key, budget := range problem.Snapshot.DisruptionBudgets.All() {
				if key.String() == name && n > int(budget.Status.DisruptionsAllowed) {
					t.Fatalf("%d evictions by %s, which allows %d", n, name, budget.Status.DisruptionsAllowed)
				}
			}
		case "selected":
			at, domain, _ := strings.Cut(name, "@")
			for i := range b.Selected {
				if most := b.Selected[i].Evictions(domain); fmt.Sprint(i) == at && n > most {
					t.Fatalf("%d evictions of selected pods in %q, %d are allowed", n, domain, most)
				}
			}
		}
		if bound > 0 && n > bound {
			t.Fatalf("%d evictions of %s, %d are allowed", n, what, bound)
		}
	}
}

func checkGangs(t reporter, problem *Problem, plan *Plan) {
	moved, members := map[string]int{}, map[string]int{}
	for _, step := range plan.Steps {
		moved[gangOf(step.Pod)]++
	}
	for node := range problem.Snapshot.Nodes() {
		for _, pod := range node.Pods {
			members[gangOf(pod)]++
		}
	}
	for name, n := range moved {
		if name != "" && n != members[name] {
			t.Fatalf("%d of %d pods of gang %s move", n, members[name], name)
		}
	}
}

func checkGroups(t reporter, groups []Group, plan *Plan) {
	placed := map[string]int{}
	for _, place := range plan.Placements {
		placed[place.Group]++
	}
	refused := map[string]bool{}
	for _, refusal := range plan.Unplaced {
		refused[refusal.Name] = true
	}
	for _, g := range groups {
		if n := placed[g.Name]; refused[g.Name] != (n == 0) || n > 0 && n < g.AtLeast {
			t.Fatalf("%d of %d pods of %s are placed, refused: %t", n, g.AtLeast, g.Name, refused[g.Name])
		}
	}
}

func labelsOf(pod *cluster.Pod) labels.Set { return pod.Labels }

func cut(what string) (kind, name string, found bool) { return strings.Cut(what, "/") }
