package placement

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"muster.dev/muster/api/seeded"
	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// lower says that pods of lower priority than 100 may be evicted.
func lower(pod *cluster.Pod) (Eviction, bool) {
	return Eviction{}, corev1helpers.PodPriority(pod.Pod) < 100
}

// TestWithTheVictimsGonePodsFitWhereTheyArePlaced plans evictions on random clusters, and
// holds the outcome against judgements that remember nothing.
func TestWithTheVictimsGonePodsFitWhereTheyArePlaced(t *testing.T) {
	found := 0
	seeded.Until(t, func() bool { return found > 0 }, func(t *rapid.T) {
		c, store := newStore(t)
		nodes := rapid.IntRange(1, 6).Draw(t, "nodes")
		for i := range nodes {
			set(t, c, drawNode(t, fmt.Sprint("node-", i)))
		}
		simple := rapid.Bool().Draw(t, "pods mind resources and ports alone")
		draw := func(name string, priority int32) *corev1.Pod {
			pod := drawPod(t, name)
			pod.Spec.Priority = &priority
			if simple {
				pod.Spec.Affinity, pod.Spec.TopologySpreadConstraints = nil, nil
			}
			return pod
		}
		for i := range rapid.IntRange(0, 12).Draw(t, "placed pods") {
			pod := draw(fmt.Sprint("placed-", i), rapid.SampledFrom([]int32{0, 1, 2, 100}).Draw(t, "priority"))
			pod.Spec.NodeName = fmt.Sprint("node-", rapid.IntRange(0, nodes-1).Draw(t, "place"))
			set(t, c, pod)
		}
		for i := range rapid.IntRange(0, 2).Draw(t, "budgets") {
			set(t, c, disruptionBudget(fmt.Sprint("budget-", i), map[string]string{"app": fmt.Sprint(i)}, rapid.Int32Range(0, 2).Draw(t, "allowed")))
		}
		for i := range rapid.IntRange(0, 3).Draw(t, "nominated pods") {
			pod := draw(fmt.Sprint("nominated-", i), rapid.SampledFrom([]int32{99, 100, 101}).Draw(t, "priority"))
			set(t, c, nominated(pod, fmt.Sprint("node-", rapid.IntRange(0, nodes).Draw(t, "place"))))
		}
		var pods []*cluster.Pod
		for i := range rapid.IntRange(1, 6).Draw(t, "pods") {
			pods = append(pods, cluster.NewPod(draw(fmt.Sprint("pod-", i), 100)))
		}
		atLeast := rapid.IntRange(1, len(pods)).Draw(t, "at least")

		plan := New(store, pods, 0)
		defer plan.Close()
		evictions := NewEvictions(plan, lower)
		outcome := evictions.PlaceAll(pods, atLeast, time.Time{})
		if outcome.Kept != (outcome.Placed == atLeast) {
			t.Fatalf("%d of %d were placed, kept: %t", outcome.Placed, atLeast, outcome.Kept)
		}
		if !outcome.Kept {
			return
		}
		victims, ok := evictions.Victims()
		if !ok {
			if simple {
				t.Fatal("what fits by its resources and ports does not fit in the end")
			}
			return
		}
		found += len(victims)
		after := map[int32]*cluster.Node{}
		for node := range plan.Snapshot().Nodes() {
			after[node.Index] = node
		}
		for _, victim := range victims {
			if corev1helpers.PodPriority(victim.Pod.Pod) >= 100 {
				t.Fatalf("%s may not be evicted", victim.Pod.Name)
			}
			after[victim.Node] = after[victim.Node].WithoutPod(victim.Pod.UID)
		}
		for _, promised := range c.Nominated() {
			if node := plan.Snapshot().NodeByName(promised.Status.NominatedNodeName); node != nil && *promised.Spec.Priority >= 100 {
				after[node.Index] = after[node.Index].WithPod(promised)
			}
		}
		for _, place := range outcome.Places {
			if place.Node >= 0 {
				after[place.Node] = after[place.Node].WithPod(place.Pod)
			}
		}
		if misplaced := misplaced(store.Profile, plan.Snapshot(), after, outcome.Places); misplaced != "" {
			t.Fatalf("%s does not fit its place", misplaced)
		}
		for _, victim := range victims {
			after[victim.Node] = after[victim.Node].WithPod(victim.Pod)
			if simple && misplaced(store.Profile, plan.Snapshot(), after, outcome.Places) == "" {
				t.Fatalf("%s could stay", victim.Pod.Name)
			}
			after[victim.Node] = after[victim.Node].WithoutPod(victim.Pod.UID)
		}
	})
	if found == 0 {
		t.Error("no pod was ever evicted")
	}
}

// misplaced is a pod that does not fit its place while all others are where they are, ""
// when there is none.
func misplaced(profile *predicates.Profile, snap *cluster.Snapshot, nodes map[int32]*cluster.Node, places []Place) string {
	for _, place := range places {
		if place.Node < 0 {
			continue
		}
		judgement := profile.Judge(place.Pod, snap)
		for _, node := range nodes {
			judgement.Suppose(node)
		}
		without := nodes[place.Node].WithoutPod(place.Pod.UID)
		judgement.Suppose(without)
		if judgement.Verdict(without) != predicates.Fits {
			return place.Pod.Name
		}
	}
	return ""
}

func disruptionBudget(name string, selects map[string]string, allowed int32) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: selects}},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed},
	}
}

func TestVictimsAreThoseThatCostLeast(t *testing.T) {
	type running struct {
		name, node, cpu string
		priority        int32
		app             string
	}
	gang := func(allowed, whole int) func(map[string]*Limit) {
		return func(limits map[string]*Limit) { limits["gang"] = &Limit{Allowed: allowed, Whole: whole} }
	}
	budget := func(allowed int32) func(*testing.T, *cluster.Cluster) {
		return func(t *testing.T, c *cluster.Cluster) {
			set(t, c, disruptionBudget("budget", map[string]string{"app": "protected"}, allowed))
		}
	}
	tests := []struct {
		name    string
		nodes   int // of 4 CPU each, called a, b, …
		running []running
		budgets func(*testing.T, *cluster.Cluster)
		limits  func(map[string]*Limit) // by app
		cpu     string                  // of each pod that is placed
		pods    int
		want    []string // names of victims; nil: not all pods have a place
	}{
		{
			name: "nobody goes while there is room", nodes: 2, cpu: "2", pods: 2, want: []string{},
			running: []running{{"x", "a", "4", 0, ""}},
		},
		{
			name: "room that there is comes first, and no more go than must", nodes: 3, cpu: "4", pods: 2, want: []string{"y"},
			running: []running{{"x", "a", "4", 5, ""}, {"y", "b", "4", 0, ""}},
		},
		{
			name: "one who leaves room for all is enough", nodes: 2, cpu: "2", pods: 2, want: []string{"x"},
			running: []running{{"x", "a", "4", 0, ""}, {"y", "b", "4", 1, ""}},
		},
		{
			name: "the lowest priority goes, though more pods have to", nodes: 2, cpu: "4", pods: 1, want: []string{"y", "z"},
			running: []running{{"x", "a", "4", 7, ""}, {"y", "b", "2", 6, ""}, {"z", "b", "2", 6, ""}},
		},
		{
			name: "of equal priorities the fewest go", nodes: 2, cpu: "4", pods: 1, want: []string{"x"},
			running: []running{{"x", "a", "4", 6, ""}, {"y", "b", "2", 6, ""}, {"z", "b", "2", 6, ""}},
		},
		{
			name: "what a budget protects is spared, whatever its priority", nodes: 2, cpu: "4", pods: 1, want: []string{"y"}, budgets: budget(0),
			running: []running{{"x", "a", "4", 0, "protected"}, {"y", "b", "4", 50, ""}},
		},
		{
			name: "a budget that allows one eviction is used once", nodes: 3, cpu: "4", pods: 2, want: []string{"x", "z"}, budgets: budget(1),
			running: []running{{"x", "a", "4", 0, "protected"}, {"y", "b", "4", 1, "protected"}, {"z", "c", "4", 50, ""}},
		},
		{
			name: "a budget is broken when nothing else helps", nodes: 1, cpu: "4", pods: 1, want: []string{"x"}, budgets: budget(0),
			running: []running{{"x", "a", "4", 0, "protected"}},
		},
		{
			name: "those go that are more than have to run together", nodes: 3, cpu: "4", pods: 1, want: []string{"w-1"}, limits: gang(1, 2),
			running: []running{{"w-1", "a", "4", 0, "gang"}, {"w-2", "b", "4", 1, "gang"}, {"x", "c", "4", 50, ""}},
		},
		{
			name: "pods that have to run together are spared", nodes: 2, cpu: "4", pods: 1, want: []string{"x"}, limits: gang(0, 1),
			running: []running{{"w-1", "a", "4", 0, "gang"}, {"x", "b", "4", 50, ""}},
		},
		{
			name:    "once they cannot run, the rest of them go before others",
			nodes:   3,
			cpu:     "4",
			pods:    2,
			want:    []string{"w-1", "w-2"},
			limits:  gang(0, 2),
			running: []running{{"w-1", "a", "4", 0, "gang"}, {"w-2", "b", "4", 0, "gang"}, {"x", "c", "4", 100, ""}},
		},
		{
			name: "what leaves anyway costs nothing", nodes: 2, cpu: "4", pods: 1, want: []string{"y"},
			running: []running{{"x", "a", "4", 0, ""}, {"y", "b", "4", 50, "leaving"}},
		},
		{
			name: "if one pod has no place, nobody goes", nodes: 3, cpu: "4", pods: 3,
			running: []running{{"x", "a", "4", 0, ""}, {"y", "b", "4", 0, ""}, {"z", "c", "1", 100, ""}},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, store := newStore(t)
			for i := range test.nodes {
				set(t, c, nodeOf(string(rune('a'+i)), "4"))
			}
			for _, r := range test.running {
				pod := runningOn(asking(r.name, r.cpu, r.priority), r.node)
				pod.Labels = map[string]string{"app": r.app}
				set(t, c, pod)
			}
			if test.budgets != nil {
				test.budgets(t, c)
			}
			limits := map[string]*Limit{}
			if test.limits != nil {
				test.limits(limits)
			}
			var pods []*cluster.Pod
			for i := range test.pods {
				pods = append(pods, cluster.NewPod(asking(fmt.Sprint("pod-", i), test.cpu, 100)))
			}
			plan := New(store, pods, 0)
			defer plan.Close()
			evictions := NewEvictions(plan, func(pod *cluster.Pod) (Eviction, bool) {
				eviction, may := lower(pod)
				if limit := limits[pod.Labels["app"]]; limit != nil {
					eviction.Limits = []*Limit{limit}
				}
				eviction.Leaving = pod.Labels["app"] == "leaving"
				return eviction, may
			})
			var got []string
			if outcome := evictions.PlaceAll(pods, len(pods), time.Time{}); outcome.Kept {
				victims, ok := evictions.Victims()
				if !ok {
					t.Fatal("the pods do not fit in the end")
				}
				got = []string{}
				for _, victim := range victims {
					got = append(got, victim.Pod.Name)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("victims, want(-) got(+):\n%s", diff)
			}
		})
	}
}

func TestASearchForVictimsEndsInTime(t *testing.T) {
	now := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	c, store := newStoreAt(t, now)
	set(t, c, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	pods := []*cluster.Pod{cluster.NewPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod", UID: "pod"}})}
	plan := New(store, pods, 0)
	defer plan.Close()
	outcome := NewEvictions(plan, lower).PlaceAll(pods, 1, now.Now().Add(-time.Second))
	if outcome.Kept || !outcome.Late {
		t.Errorf("kept: %t, late: %t", outcome.Kept, outcome.Late)
	}
}
