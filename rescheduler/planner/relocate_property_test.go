package planner

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"pgregory.net/rapid"

	"muster.dev/muster/api/seeded"
	"muster.dev/muster/cluster"
)

// TestEveryStepForPodsThatAreToLeaveIsSafe carries out plans to relocate pods of random
// clusters, in which many are where the predicates are against them.
func TestEveryStepForPodsThatAreToLeaveIsSafe(t *testing.T) {
	moved, others, stayed, moot := 0, 0, 0, 0
	enough := func() bool { return moved > 0 && others > 0 && stayed > 0 && moot > 0 }
	seeded.Until(t, enough, func(t *rapid.T) {
		_, problem := drawScene(t)
		wishes := drawWishes(t, problem)
		several := [][]Wish{wishes}
		for _, w := range wishes {
			several = append(several, []Wish{w})
		}
		for _, wishes := range several {
			plan := problem.Relocate(wishes)
			checkPlan(t, problem, nil, plan, wishes...)
			if diff := cmp.Diff(said(plan), said(problem.Relocate(wishes))); diff != "" {
				t.Fatalf("the same problem gives another plan (-first +second):\n%s", diff)
			}
			stayed, moot = stayed+len(plan.Unmoved), moot+len(wishes)-len(plan.Unmoved)
			for _, step := range plan.Steps {
				if slices.ContainsFunc(wishes, func(w Wish) bool { return w.Pod == step.Pod }) {
					moved, moot = moved+1, moot-1
				} else {
					others++
				}
			}
		}
	})
	if !enough() {
		t.Errorf("%d pods moved, %d others for them, %d stayed, and %d might after all: too few to tell anything", moved, others, stayed, moot)
	}
}

func drawWishes(t *rapid.T, problem *Problem) (wishes []Wish) {
	for node := range problem.Snapshot.Nodes() {
		for _, pod := range node.Pods {
			if rapid.Bool().Draw(t, "stays") {
				continue
			}
			to := []func(*cluster.Node) bool{
				nil, func(n *cluster.Node) bool { return n.Name != "node-0" },
				func(n *cluster.Node) bool {
					return !slices.ContainsFunc(n.Pods, func(other *cluster.Pod) bool { return other.Labels["app"] == pod.Labels["app"] })
				},
			}
			while := []func(Place) bool{
				nil, func(at Place) bool { return len(at.Node.Pods) > 1 }, func(at Place) bool { return len(at.Against()) > 0 },
			}
			wishes = append(wishes, Wish{Pod: pod, To: rapid.SampledFrom(to).Draw(t, "to"), While: rapid.SampledFrom(while).Draw(t, "while")})
		}
	}
	return wishes
}

// TestAPodThatIsToLeaveStaysOnlyWhereItMust tries all nodes for a single pod.
func TestAPodThatIsToLeaveStaysOnlyWhereItMust(t *testing.T) {
	moved, stayed := 0, 0
	enough := func() bool { return moved > 0 && stayed > 0 }
	seeded.Until(t, enough, func(t *rapid.T) {
		_, problem := drawScene(t)
		problem.Budgets, problem.Rules.MinReplicas = Budgets{IgnoreDisruptionBudgets: true}, 0
		var candidates []*cluster.Pod
		for node := range problem.Snapshot.Nodes() {
			candidates = append(candidates, slices.DeleteFunc(slices.Clone(node.Pods), func(p *cluster.Pod) bool { return gangOf(p) != "" })...)
		}
		if len(candidates) == 0 {
			return
		}
		pod := rapid.SampledFrom(candidates).Draw(t, "pod")
		plan := problem.Relocate([]Wish{{Pod: pod}})
		if len(plan.Unmoved) == 0 {
			moved++
			return
		}
		stayed++
		if problem.Rules.Protects(pod, problem.Snapshot.NodeByName(pod.Spec.NodeName), WorkloadsOf(problem.Snapshot), now()) != "" {
			return
		}
		m := modelOf(problem)
		from := problem.Snapshot.NodeByName(pod.Spec.NodeName).Index
		m.nodes[from] = m.nodes[from].WithoutPod(pod.UID)
		for index, node := range m.nodes {
			if index != from && NoTarget(node) == "" && m.against(newKinds(problem).replacement(pod), index) == "" {
				t.Fatalf("%s stays (%v), and %s would take it", pod.Name, plan.Unmoved, node.Name)
			}
		}
	})
	if !enough() {
		t.Errorf("%d pods moved and %d stayed: too few to tell anything", moved, stayed)
	}
}

// checkWish says that a pod which is to leave goes where it may.
func checkWish(t reporter, m *model, step Step, wishes []Wish) {
	for _, w := range wishes {
		if w.Pod == step.Pod && w.To != nil && !w.To(m.nodes[step.To.Index]) {
			t.Fatalf("%s is not to go to %s", step.Pod.Name, step.To.Name)
		}
	}
}

// checkWishes checks that pods move only for pods that are to leave, and that the plan says of each of these
// what becomes of it.
func checkWishes(t reporter, problem *Problem, wishes []Wish, plan *Plan) {
	if len(wishes) == 0 {
		return
	}
	wished := func(step Step) bool {
		return slices.ContainsFunc(wishes, func(w Wish) bool {
			return w.Pod == step.Pod || step.Gang != "" && gangOf(w.Pod) == step.Gang
		})
	}
	highest := int32(-1 << 31)
	for _, step := range plan.Steps {
		if wished(step) {
			highest = max(highest, corev1helpers.PodPriority(step.Pod.Pod))
		}
	}
	for _, step := range plan.Steps {
		if wished(step) {
			continue
		}
		if !problem.Rules.AllowHigherPriority && corev1helpers.PodPriority(step.Pod.Pod) > highest {
			t.Fatalf("%s moves for pods of lower priority", step.Pod.Name)
		}
		if step.Gang == "" && !slices.ContainsFunc(plan.Steps, func(other Step) bool { return other.To == step.From }) {
			t.Fatalf("%s moves for nobody", step.Pod.Name)
		}
	}
	var want, got []string
	for _, w := range wishes {
		if w.While != nil {
			continue // it may stay after all
		}
		want = append(want, w.Pod.FullName())
		for _, step := range plan.Steps {
			if step.Pod == w.Pod {
				got = append(got, w.Pod.FullName())
			}
		}
	}
	for _, refusal := range plan.Unmoved {
		if refusal.Reason == "" {
			t.Fatalf("nothing says why %s stays", refusal.Name)
		}
		if slices.ContainsFunc(wishes, func(w Wish) bool { return w.Pod.FullName() == refusal.Name && w.While == nil }) {
			got = append(got, refusal.Name)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		t.Fatalf("%v are to leave, and it is said of %v what becomes of them", fmt.Sprint(want), got)
	}
}
