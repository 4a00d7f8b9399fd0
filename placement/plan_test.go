package placement

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"pgregory.net/rapid"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/seeded"
	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// TestEveryPodGetsTheBestNodeOfThatMoment places pods of several kinds on random
// clusters and holds every choice against a judgement of all nodes as they are then.
func TestEveryPodGetsTheBestNodeOfThatMoment(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		c, store := newStore(t)
		for i := range rapid.IntRange(1, 12).Draw(t, "nodes") {
			set(t, c, drawNode(t, fmt.Sprint("node-", i)))
		}
		for i := range rapid.IntRange(0, 10).Draw(t, "placed pods") {
			pod := drawPod(t, fmt.Sprint("placed-", i))
			pod.Spec.NodeName = fmt.Sprint("node-", rapid.IntRange(0, 12).Draw(t, "place"))
			set(t, c, pod)
		}
		var pods []*cluster.Pod
		for i := range rapid.IntRange(1, 20).Draw(t, "pods") {
			pods = append(pods, cluster.NewPod(drawPod(t, fmt.Sprint("pod-", i))))
		}
		if rapid.Bool().Draw(t, "all are known") {
			for _, pod := range pods {
				view := store.View(pod)
				view.Close()
			}
		}

		plan := New(store, pods, rapid.Uint64().Draw(t, "seed"))
		for _, pod := range pods {
			if rapid.IntRange(0, 4).Draw(t, "take") == 0 {
				take(t, plan)
			}
			if rapid.IntRange(0, 4).Draw(t, "in vain") == 0 {
				inVain(t, plan, pods)
			}
			rated := fresh(store.Profile, plan, pod)
			var but []int32
			if rapid.IntRange(0, 2).Draw(t, "some nodes are left out") == 0 {
				but = slices.Sorted(maps.Keys(rated))[:rapid.IntRange(0, len(rated)).Draw(t, "of those that it fits")]
				maps.DeleteFunc(rated, func(index int32, _ rating) bool { return slices.Contains(but, index) })
			}
			best := worst
			for _, r := range rated {
				if r.over(best) {
					best = r
				}
			}
			got := plan.Place(pod, but...)
			switch r, fits := rated[got]; {
			case got < 0 && len(rated) > 0:
				t.Fatalf("%s got no node, and there is one of %+v", pod.Name, best)
			case got >= 0 && (!fits || r != best):
				t.Fatalf("%s got node %d, fits: %v, %+v, and the best has %+v", pod.Name, got, fits, r, best)
			}
		}
		plan.Close()
		for _, pod := range pods {
			asBefore(t, store, pod)
		}
	})
}

// take takes away a pod of a node, if that has one.
func take(t *rapid.T, plan *Plan) {
	index := int32(rapid.IntRange(0, plan.Snapshot().IndexEnd()-1).Draw(t, "node"))
	if node := plan.Node(index); node != nil && len(node.Pods) > 0 {
		plan.Take(node.Pods[0], index)
	}
}

// inVain places some of the pods, and takes all of them back.
func inVain(t *rapid.T, plan *Plan, pods []*cluster.Pod) {
	before := map[int32]*cluster.Node{}
	for node := range plan.Snapshot().Nodes() {
		before[node.Index] = plan.Node(node.Index)
	}
	some := pods[:rapid.IntRange(0, len(pods)).Draw(t, "so many")]
	if outcome := plan.PlaceAll(some, len(some)+1, time.Time{}); outcome.Kept {
		t.Fatal("fewer pods than were to be placed at least were kept")
	}
	for index, node := range before {
		if plan.Node(index) != node {
			t.Fatalf("%s is not as it was", node.Name)
		}
	}
}

// rating is the rating of a node that a pod fits.
type rating struct {
	total  int64
	misfit float32
}

var worst = rating{total: -1}

func (r rating) over(other rating) bool {
	return r.total > other.total || r.total == other.total && r.misfit < other.misfit
}

// fresh returns the ratings by a judgement that remembers nothing of the nodes that the pod fits, as planned so
// far, by index.
func fresh(profile *predicates.Profile, plan *Plan, pod *cluster.Pod) map[int32]rating {
	judgement := profile.Judge(pod, plan.Snapshot())
	for node := range plan.Snapshot().Nodes() {
		judgement.Suppose(plan.Node(node.Index))
	}
	var fitting []int32
	for node := range plan.Snapshot().Nodes() {
		if judgement.Verdict(plan.Node(node.Index)) == predicates.Fits {
			fitting = append(fitting, node.Index)
		}
	}
	totals := make([]int64, len(fitting))
	judgement.Rank(fitting, totals)
	byIndex := map[int32]rating{}
	for i, index := range fitting {
		byIndex[index] = rating{totals[i], float32(Misfit(pod, plan.Node(index)))}
	}
	return byIndex
}

// asBefore holds what a store remembers after a plan against a fresh judgement.
func asBefore(t *rapid.T, store *predicates.VerdictStore, pod *cluster.Pod) {
	view := store.View(pod)
	defer view.Close()
	judgement := store.Profile.Judge(pod, view.Snapshot)
	var nodes []int32
	for node := range view.Snapshot.Nodes() {
		nodes = append(nodes, node.Index)
		if got, want := view.Verdict(node.Index), judgement.Verdict(node); got != want {
			t.Fatalf("the plan left a verdict behind: %s on %s is %d, should be %d", pod.Name, node.Name, got, want)
		}
	}
	got, want := make([]int64, len(nodes)), make([]int64, len(nodes))
	view.Rank(nodes, got)
	judgement.Rank(nodes, want)
	for i := range nodes {
		if got[i] != want[i] {
			t.Fatalf("the plan left a score behind: %s on node %d has %d, should have %d", pod.Name, nodes[i], got[i], want[i])
		}
	}
}

func newStore(t interface{ Fatal(...any) }) (*cluster.Cluster, *predicates.VerdictStore) {
	return newStoreAt(t, clock.RealClock{})
}

func newStoreAt(t interface{ Fatal(...any) }, now clock.PassiveClock) (*cluster.Cluster, *predicates.VerdictStore) {
	cfg := config.Default()
	cfg.Profiles[0].NodeSelection = config.NodeSelectionMuster
	profile, err := predicates.NewProfile(&cfg.Profiles[0])
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	c := cluster.New(cluster.Options{Logger: slog.New(slog.DiscardHandler), Registerer: registry, AssumeTTL: time.Hour})
	return c, predicates.NewVerdictStore(profile, c, 1<<30, predicates.NewStoreMetrics(registry), now)
}

func set(t interface{ Fatal(...any) }, c *cluster.Cluster, object runtime.Object) {
	if err := c.Set(object); err != nil {
		t.Fatal(err)
	}
}

func drawNode(t *rapid.T, name string) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}}
	if zone := rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "zone"); zone != "" {
		node.Labels[corev1.LabelTopologyZone] = zone
	}
	node.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(rapid.Int64Range(0, 8).Draw(t, "cpu"), resource.DecimalSI),
		corev1.ResourceMemory: resource.MustParse("8Gi"),
		corev1.ResourcePods:   *resource.NewQuantity(6, resource.DecimalSI),
	}
	if gpus := rapid.Int64Range(0, 4).Draw(t, "gpus"); gpus > 0 {
		node.Status.Allocatable[gpu] = *resource.NewQuantity(gpus, resource.DecimalSI)
	}
	if rapid.IntRange(0, 3).Draw(t, "taint") == 0 {
		node.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectPreferNoSchedule}}
	}
	return node
}

const gpu = "example.com/gpu"

// drawPod draws a pod of one of a few controllers, or of none.
func drawPod(t *rapid.T, name string) *corev1.Pod {
	kind := rapid.IntRange(0, 6).Draw(t, "kind of "+name)
	app := map[string]string{"app": fmt.Sprint(kind % 3)}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name), Labels: app},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: *resource.NewMilliQuantity(int64(kind)*500, resource.DecimalSI),
		}}}}},
	}
	same := &metav1.LabelSelector{MatchLabels: app}
	next := &metav1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprint((kind + 1) % 3)}}
	near := corev1.PodAffinityTerm{LabelSelector: same, TopologyKey: corev1.LabelTopologyZone}
	nextTo := corev1.PodAffinityTerm{LabelSelector: next, TopologyKey: corev1.LabelTopologyZone}
	apart := corev1.PodAffinityTerm{
		LabelSelector: same,
		TopologyKey:   rapid.SampledFrom([]string{corev1.LabelHostname, corev1.LabelTopologyZone}).Draw(t, "apart"),
	}
	switch kind {
	case 1:
		pod.Spec.Affinity = &corev1.Affinity{
			PodAntiAffinity: &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
					rapid.SampledFrom([]corev1.PodAffinityTerm{apart, nextTo}).Draw(t, "anti-affinity"),
				},
			},
		}
	case 2:
		pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: same,
		}, {
			MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: same,
		}}
	case 3:
		pod.Spec.Affinity = &corev1.Affinity{
			PodAffinity: &corev1.PodAffinity{
				PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 10, PodAffinityTerm: nextTo}},
			},
			PodAntiAffinity: &corev1.PodAntiAffinity{
				PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 5, PodAffinityTerm: apart}},
			},
		}
	case 4:
		pod.Spec.Affinity = &corev1.Affinity{
			PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{near}},
		}
	case 0:
		pod.Spec.Containers[0].Resources.Requests[gpu] = *resource.NewQuantity(1, resource.DecimalSI)
	case 5:
		pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80}}
	}
	if kind < 5 { // the others have no class
		yes := true
		pod.OwnerReferences = []metav1.OwnerReference{{UID: types.UID(fmt.Sprint(kind)), Controller: &yes}}
	}
	return pod
}
