package predicates

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"muster.dev/muster/api/seeded"
	"muster.dev/muster/cluster"
)

// TestAPodIsJudgedAsIfItDidNotCountWhereItDoes compares what is said of a pod before it
// counts on a node with what is said without it when it does, and that nothing is left of
// having supposed so.
func TestAPodIsJudgedAsIfItDidNotCountWhereItDoes(t *testing.T) {
	apart := func(pod *corev1.Pod) {
		pod.Labels = map[string]string{"app": "x"}
		pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: pod.Labels},
			}},
		}}
	}
	evenly := func(pod *corev1.Pod) {
		pod.Labels = map[string]string{"app": "x"}
		pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: pod.Labels},
		}}
	}
	matters := false
	seeded.Until(t, func() bool { return matters }, func(t *rapid.T) {
		b := newStoreBench(t, 1<<20)
		for _, name := range []string{"a", "b", "c"} {
			node := storeNode(name, rapid.Int64Range(1, 4).Draw(t, "cpu of "+name))
			node.Labels[corev1.LabelHostname] = name
			if err := b.cluster.Set(node); err != nil {
				t.Fatal(err)
			}
		}
		kind := rapid.SampledFrom([]func(*corev1.Pod){func(*corev1.Pod) {}, apart, evenly}).Draw(t, "kind")
		controller := rapid.IntRange(0, 3).Draw(t, "controller")
		for number := range rapid.IntRange(0, 2).Draw(t, "others") {
			other := storePod(controller, number+1)
			kind(other)
			other.Spec.NodeName = rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "node of another one")
			if err := b.cluster.Set(other); err != nil {
				t.Fatal(err)
			}
		}
		object := storePod(controller, 0)
		kind(object)
		if rapid.Bool().Draw(t, "has no class") {
			object.OwnerReferences = nil
		}
		pod := cluster.NewPod(object)
		on := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "place")
		before := said(b.store.View(pod))
		if err := b.cluster.AssumeAll([]*cluster.Pod{pod}, b.cluster.Snapshot().NodeByName(on)); err != nil {
			t.Fatal(err)
		}
		defer b.cluster.Release(pod.UID)
		with := said(b.store.View(pod))
		if diff := cmp.Diff(before, said(b.store.ViewWithout(pod, on))); diff != "" {
			t.Fatalf("where it counts it is judged otherwise than before (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(with, said(b.store.View(pod))); diff != "" {
			t.Fatalf("something is left of what was supposed (-want +got):\n%s", diff)
		}
		matters = matters || !cmp.Equal(with, before)
	})
	if !matters {
		t.Error("no pod is ever judged otherwise when it counts")
	}
}

// saidOfNodes holds the answers of a view, by node index.
type saidOfNodes struct {
	Verdicts []Verdict
	Totals   []int64
	Pods     []int // that count there
}

// said closes the view.
func said(view View) saidOfNodes {
	defer view.Close()
	indexes := []int32{0, 1, 2}
	said := saidOfNodes{Totals: make([]int64, len(indexes))}
	for _, index := range indexes {
		said.Verdicts = append(said.Verdicts, view.Verdict(index))
		said.Pods = append(said.Pods, len(view.Node(index).Pods))
	}
	view.Rank(indexes, said.Totals)
	return said
}
