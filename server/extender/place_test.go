package extender

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/server/servertest"
)

// apart is a pod that shares its zone with no other one of these.
func apart(name string) *corev1.Pod {
	pod := servertest.Pod(name, "1")
	pod.Labels = map[string]string{"app": "apart"}
	pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{MatchLabels: pod.Labels}, TopologyKey: corev1.LabelTopologyZone,
		}},
	}}
	return pod
}

func inZone(name string) func(*corev1.Node) {
	return func(node *corev1.Node) { node.Labels = map[string]string{corev1.LabelTopologyZone: name} }
}

// While one of two pods is judged for a node, the other one comes to another node of the zone.
func TestNoPodCountsWhereAnotherOneHasComeWhileItWasJudged(t *testing.T) {
	const against = "the pod does not fit on node a any more: node(s) didn't match pod anti-affinity rules"
	for name, test := range map[string]struct {
		selection config.NodeSelection
		ask       func(b *bench, first *corev1.Pod) (answer, want string)
	}{
		"by bind": {config.NodeSelectionScheduler, func(b *bench, first *corev1.Pod) (answer, want string) {
			return b.bindAsIs(first, "a"), against
		}},
		"by filter": {config.NodeSelectionMuster, func(b *bench, first *corev1.Pod) (answer, want string) {
			for _, node := range *b.Filter(first, "a").NodeNames {
				return node, ""
			}
			return "", ""
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b, i := interrupted(t, benchOptions{selection: test.selection, client: bindings(accept)})
			b.Node("a", "8", inZone("z"))
			b.Node("b", "8", inZone("z"))
			first, second := b.Pending(apart("first")), b.Pending(apart("second"))
			b.Filter(first, "a")
			b.Cluster.Release(first.UID)
			i.during["first"] = func() {
				delete(i.during, "first")
				if err := b.Cluster.AssumeAll([]*cluster.Pod{b.Cluster.PendingPod(second.UID)}, b.Cluster.Snapshot().NodeByName("b")); err != nil {
					t.Error(err)
				}
			}
			if answer, want := test.ask(b, first); answer != want {
				t.Errorf("the answer is %q, want %q", answer, want)
			}
			if got := b.Cluster.Assumed(first.UID); got != "" {
				t.Errorf("it counts on %q", got)
			}
		})
	}
}

// While a pod is judged for a node, the watch shows that its labels are others: the labels of pods that keep
// each other away.
func TestNoPodCountsAsAnotherOneThanTheWatchShows(t *testing.T) {
	for _, selection := range []config.NodeSelection{config.NodeSelectionScheduler, config.NodeSelectionMuster} {
		t.Run(string(selection), func(t *testing.T) {
			b, i := interrupted(t, benchOptions{selection: selection, client: bindings(accept)})
			b.Node("a", "8", inZone("z"))
			other := apart("other")
			other.Spec.NodeName = "a"
			b.Pending(other)
			pod := b.Pending(servertest.Pod("p", "1"))
			relabel := func() {
				delete(i.during, "p")
				pod.Labels = other.Labels
				b.Pending(pod)
			}
			if selection == config.NodeSelectionScheduler {
				b.Filter(pod, "a")
			}
			i.during["p"] = relabel
			if selection == config.NodeSelectionMuster {
				if got := *b.Filter(pod, "a").NodeNames; len(got) != 0 {
					t.Errorf("it is offered %v", got)
				}
			}
			if got := b.bindAsIs(pod, "a"); got == "" {
				t.Error("it is bound to the node of one that it may not be near")
			}
			if got := b.Cluster.Assumed(pod.UID); got != "" {
				t.Errorf("it counts on %q", got)
			}
		})
	}
}

func TestAPodThatIsRefusedAtBindCountsNowhere(t *testing.T) {
	for name, change := range map[string]func(b *bench){
		"its node is gone": func(b *bench) {
			if err := b.Cluster.Delete(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}); err != nil {
				b.Fatal(err)
			}
		},
		"its node is cordoned": func(b *bench) { b.Node("a", "8", servertest.Cordoned) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, benchOptions{selection: config.NodeSelectionMuster, client: bindings(accept)})
			b.Node("a", "8")
			pod := b.Pending(servertest.Pod("p", "1"))
			b.Filter(pod, "a")
			freed := b.Cluster.Snapshot().Freed
			change(b)
			if got := b.bindAsIs(pod, "a"); got == "" {
				t.Error("it is bound")
			}
			if got := b.Cluster.Assumed(pod.UID); got != "" {
				t.Errorf("it counts on %q", got)
			}
			if b.Cluster.Snapshot().Freed == freed {
				t.Error("nobody is told that its room is free")
			}
		})
	}
}
