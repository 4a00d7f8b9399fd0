package scenario_test

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/seeded"
	"muster.dev/muster/cluster"
	"muster.dev/muster/placement/scenario"
	"muster.dev/muster/predicates"
)

const nodes = 4

// newCluster has nodes in two zones, and pods on them by the index of the node.
func newCluster(t interface{ Fatal(...any) }, on map[*corev1.Pod]int32) *cluster.Cluster {
	c := cluster.New(cluster.Options{Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), AssumeTTL: 1 << 40})
	set := func(object runtime.Object) {
		if err := c.Set(object); err != nil {
			t.Fatal(err)
		}
	}
	for i := range nodes {
		set(&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", i), Labels: map[string]string{corev1.LabelTopologyZone: fmt.Sprint("z", i%2)}},
			Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourcePods: resource.MustParse("3"),
			}},
		})
	}
	for pod, node := range on {
		bound := pod.DeepCopy()
		bound.Spec.NodeName = fmt.Sprint("n", node)
		set(bound)
	}
	return c
}

// newPod asks for so much CPU and, if it has a label, keeps its zone free of others with it.
func newPod(name string, cpu int, app string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name)},
		Spec: corev1.PodSpec{Containers: []corev1.Container{
			{
				Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(int64(cpu), resource.DecimalSI)},
				},
			},
		}},
	}
	if app != "" {
		pod.Labels = map[string]string{"app": app}
		pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				LabelSelector: &metav1.LabelSelector{MatchLabels: pod.Labels}, TopologyKey: corev1.LabelTopologyZone,
			}},
		}}
	}
	return pod
}

func newProfile(t interface{ Fatal(...any) }) *predicates.Profile {
	profile, err := predicates.NewProfile(&config.Default().Profiles[0])
	if err != nil {
		t.Fatal(err)
	}
	return profile
}

func TestAScenarioIsJudgedAsIfItWereSo(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		profile := newProfile(t)
		drawPod := func(name string) *corev1.Pod {
			return newPod(name, rapid.IntRange(0, 3).Draw(t, "cpu"), rapid.SampledFrom([]string{"", "", "a", "b"}).Draw(t, "app"))
		}
		on := map[*corev1.Pod]int32{}
		for i := range rapid.IntRange(0, 5).Draw(t, "pods") {
			on[drawPod(fmt.Sprint("p", i))] = int32(rapid.IntRange(0, nodes-1).Draw(t, "node"))
		}
		c := newCluster(t, on)
		snap := c.Snapshot()
		s := scenario.New(snap)
		asking := cluster.NewPod(drawPod("asking"))
		judge := s.Judge(profile.Judge(asking, snap))
		states := map[int]map[*corev1.Pod]int32{} // by how many moves had been made after a step
		for range rapid.IntRange(1, 16).Draw(t, "steps") {
			states[s.Moves()] = on
			next := maps.Clone(on)
			switch rapid.SampledFrom([]string{"put", "take", "undo"}).Draw(t, "step") {
			case "put":
				pod, node := drawPod(fmt.Sprint("came-", s.Moves())), int32(rapid.IntRange(0, nodes-1).Draw(t, "to"))
				s.Put(cluster.NewPod(pod), node)
				next[pod] = node
			case "take":
				if len(on) == 0 {
					continue
				}
				byName := func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) }
				pod := rapid.SampledFrom(slices.SortedFunc(maps.Keys(on), byName)).Draw(t, "pod")
				s.Take(cluster.NewPod(pod), on[pod])
				delete(next, pod)
			case "undo":
				to := rapid.SampledFrom(slices.Sorted(maps.Keys(states))).Draw(t, "to")
				s.Undo(to)
				next = states[to]
			}
			on = next
			if rapid.Bool().Draw(t, "look") {
				continue // the judge follows several moves at once
			}
			built := newCluster(t, on).Snapshot()
			fresh := profile.Judge(asking, built)
			for index := range int32(nodes) {
				if want, got := fresh.Verdict(built.Node(index)), judge.Verdict(index); want != got {
					t.Fatalf("on node %d the verdict is %q, want %q", index, judge.Judgement().Reason(got), fresh.Reason(want))
				}
			}
		}
	})
}

func TestATryOfAnotherStateLeavesTheScenarioAsItIs(t *testing.T) {
	c := newCluster(t, map[*corev1.Pod]int32{newPod("there", 1, "a"): 0}) // and so in the zone of nodes 0 and 2
	snap := c.Snapshot()
	s := scenario.New(snap)
	judge := s.Judge(newProfile(t).Judge(cluster.NewPod(newPod("asking", 1, "a")), snap))
	if judge.Fits(0) || judge.Fits(2) {
		t.Fatal("it fits beside its like")
	}
	if !judge.FitsIn(s.Node(0).WithoutPod("there")) || judge.Fits(2) || s.Moves() != 0 {
		t.Error("what was tried is not what was asked, or has come to stay")
	}
	if against := judge.Against(snap.Node(0).Pods[0], 0); len(against) != 0 || judge.Fits(2) {
		t.Errorf("a pod that could come to where it is has %v against it", against)
	}
}

func TestTheNodesThatPodsCameToOrWentFromAreTold(t *testing.T) {
	c := newCluster(t, nil)
	s := scenario.New(c.Snapshot())
	s.Put(cluster.NewPod(newPod("p", 1, "")), 2)
	var changed []string
	for node := range s.Changed() {
		changed = append(changed, fmt.Sprint(node.Name, " ", len(node.Pods)))
	}
	if len(changed) != 1 || changed[0] != "n2 1" {
		t.Errorf("changed are %v", changed)
	}
	if s.NodeByName("n2") != s.Node(2) || s.NodeByName("ghost") != nil || s.Node(nodes) != nil {
		t.Error("nodes are not found by name or index")
	}
}

func ExampleScenario() {
	c := newCluster(nil, map[*corev1.Pod]int32{newPod("big", 4, ""): 0})
	profile, _ := predicates.NewProfile(&config.Default().Profiles[0])
	snap := c.Snapshot()
	world := scenario.New(snap)
	judge := world.Judge(profile.Judge(cluster.NewPod(newPod("small", 1, "")), snap))
	fmt.Println("fits on n0 as it is:", judge.Fits(0))
	world.Take(world.Node(0).Pods[0], 0)
	fmt.Println("fits once the big pod is gone:", judge.Fits(0))
	world.Undo(0)
	fmt.Println("and when it is back:", judge.Fits(0))
	// Output:
	// fits on n0 as it is: false
	// fits once the big pod is gone: true
	// and when it is back: false
}

// A search that goes back from step to step takes each move back once, however deep it is.
func TestWhatWasTakenBackIsNotTakenBackAgain(t *testing.T) {
	const steps = 100
	c := newCluster(t, nil)
	s := scenario.New(c.Snapshot())
	var before []int
	for i := range steps {
		before = append(before, s.Moves())
		s.Put(cluster.NewPod(newPod(fmt.Sprint("p", i), 0, "")), int32(i%nodes))
	}
	for _, to := range slices.Backward(before) {
		s.Undo(to)
	}
	if s.Moves() != 2*steps {
		t.Errorf("%d moves and their return are %d moves, want %d", steps, s.Moves(), 2*steps)
	}
	for index := range int32(nodes) {
		if pods := len(s.Node(index).Pods); pods > 0 {
			t.Errorf("node %d keeps %d pods", index, pods)
		}
	}
}
