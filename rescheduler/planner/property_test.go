package planner

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"

	"muster.dev/muster/api/seeded"
)

// drawScene draws a tight cluster in which pods mind each other, and a problem about it.
func drawScene(t *rapid.T) (*scene, *Problem) {
	s := newScene()
	nodes := rapid.IntRange(2, 6).Draw(t, "nodes")
	room := make([]int, nodes)
	for i := range nodes {
		room[i] = rapid.IntRange(2, 8).Draw(t, "cpu")
		change := []func(*corev1.Node){inZone(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "zone"))}
		if rapid.IntRange(0, 9).Draw(t, "is it to stay") == 0 {
			change = append(change, softlyTainted(taintDeletionCandidate))
		}
		s.set(t, node(fmt.Sprint("node-", i), fmt.Sprint(room[i]), change...))
	}
	for i := range rapid.IntRange(1, 16).Draw(t, "pods on nodes") {
		on, cpu := rapid.IntRange(0, nodes-1).Draw(t, "on"), rapid.IntRange(1, 3).Draw(t, "cpu")
		if room[on] -= cpu; room[on] < 0 {
			continue
		}
		s.set(t, drawPod(t, i, fmt.Sprint("node-", on), cpu))
	}
	for i := range rapid.IntRange(1, 5).Draw(t, "pending pods") {
		s.set(t, drawPod(t, 100+i, "", rapid.IntRange(1, 6).Draw(t, "cpu")))
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "disruption budgets") {
		s.set(t, protecting(fmt.Sprint("app", i), rapid.Int32Range(0, 2).Draw(t, "allowed")))
	}
	p := s.problem(t)
	p.Seed = rapid.Uint64().Draw(t, "seed")
	p.Limits = Limits{Hops: rapid.IntRange(1, 3).Draw(t, "hops"), Patience: 20}
	p.Rules.AllowHigherPriority = rapid.Bool().Draw(t, "higher priority too")
	p.Rules.MinReplicas = rapid.IntRange(0, 2).Draw(t, "min replicas")
	p.Budgets = Budgets{
		Total: rapid.IntRange(0, 6).
			Draw(t, "total"),
		PerNode:     rapid.IntRange(0, 3).Draw(t, "per node"),
		PerWorkload: rapid.IntRange(0, 3).Draw(t, "per workload"),

		PerWorkloadPercent: rapid.SampledFrom([]int{0, 0, 20, 50}).Draw(t, "per cent of a workload"),
	}
	if rapid.Bool().Draw(t, "a budget by selector") {
		most := rapid.IntRange(0, 2).Draw(t, "evictions")
		p.Budgets.Selected = []SelectedBudget{{
			Selector: labels.SelectorFromSet(labels.Set{"app": "app2"}), Evictions: func(string) int { return most },
		}}
	}
	if rapid.IntRange(0, 3).Draw(t, "a budget by zone") == 0 {
		p.Budgets.Selected = append(p.Budgets.Selected, SelectedBudget{
			Selector: labels.Everything(), TopologyKey: corev1.LabelTopologyZone,
			Evictions: func(domain string) int { return map[string]int{"b": 1, "c": 2}[domain] },
		})
	}
	return s, p
}

func drawPod(t *rapid.T, i int, on string, cpu int) *corev1.Pod {
	app := rapid.IntRange(0, 5).Draw(t, "app")
	p := pod(fmt.Sprintf("app%d-%d", app, i), on, fmt.Sprint(cpu), priority(rapid.SampledFrom([]int32{0, 0, 0, 5}).Draw(t, "priority")))
	change := []func(*corev1.Pod){
		func(*corev1.Pod) {}, func(*corev1.Pod) {}, apartBy(corev1.LabelHostname), spreadBy(corev1.LabelTopologyZone), onPort(80), nextTo("app1"),
	}[app]
	change(p)
	switch rapid.IntRange(0, 12).Draw(t, "odd") {
	case 0:
		unowned(p)
	case 1:
		with(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})(p)
	case 2, 3:
		inGang(fmt.Sprint("gang", rapid.IntRange(0, 1).Draw(t, "gang")), rapid.IntRange(1, 2).Draw(t, "min member"))(p)
	}
	return p
}

// nextTo wants a pod to be in the zone of the pods of another app.
func nextTo(app string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{
			PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				TopologyKey: corev1.LabelTopologyZone, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
			}}},
		}
	}
}

func TestEveryStepOfEveryPlanIsSafe(t *testing.T) {
	steps, placed, moved := 0, 0, 0
	enough := func() bool { return steps > 0 && moved > 0 }
	seeded.Until(t, enough, func(t *rapid.T) {
		s, problem := drawScene(t)
		plan := problem.MakeRoom(s.groups())
		checkPlan(t, problem, s.groups(), plan)
		again := problem.MakeRoom(s.groups())
		if diff := cmp.Diff(said(plan), said(again)); diff != "" {
			t.Fatalf("the same problem gives another plan (-first +second):\n%s", diff)
		}
		steps += len(plan.Steps)
		for _, place := range plan.Placements {
			if placed++; place.After > 0 {
				moved++
			}
		}
	})
	if !enough() {
		t.Errorf("%d steps, %d pods placed and %d of them after a step: too few to tell anything", steps, placed, moved)
	}
}

// clockOf runs out after that many looks.
type clockOf struct{ looks *int }

func (c clockOf) Now() time.Time {
	*c.looks--
	if *c.looks < 0 {
		return now().Add(time.Hour)
	}
	return now()
}

func (c clockOf) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

func TestAPlanThatRunsOutOfTimeIsSafe(t *testing.T) {
	late := 0
	seeded.Until(t, func() bool { return late > 0 }, func(t *rapid.T) {
		s, problem := drawScene(t)
		looks := rapid.IntRange(1, 30).Draw(t, "looks at the clock")
		problem.Clock = clockOf{&looks}
		plan := problem.MakeRoom(s.groups())
		checkPlan(t, problem, s.groups(), plan)
		if plan.Late {
			late++
		}
	})
	if late == 0 {
		t.Error("time never ran out")
	}
}
