package extender

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/api/config"
	"muster.dev/muster/server/servertest"
)

// writes are the names of pods whose nominations an API server was given.
type writes chan string

func (w writes) Nominate(_ context.Context, pod *corev1.Pod, _ string) error {
	w <- pod.Name
	return nil
}

// nominatedBench is a bench with nodes a and b, where a is emptier, and pod p, which is nominated to it.
func nominatedBench(t *testing.T) (*bench, *corev1.Pod) {
	t.Helper()
	written := make(writes, 1)
	b := newBench(t, benchOptions{selection: config.NodeSelectionMuster, ahead: written})
	b.Node("a", "8")
	b.Node("b", "4")
	pod := servertest.Pod("p", "1")
	if err := b.Cluster.Set(pod.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { b.writer.Run(ctx) })
	running.Go(func() { b.nominator.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	if got := <-written; got != "p" {
		t.Fatalf("%s is nominated", got)
	}
	return b, pod
}

func TestFilterConfirmsThePlannedNode(t *testing.T) {
	tests := []struct {
		name  string
		then  func(*bench)
		among []string
		want  []string
	}{
		{"it is the only one asked about", func(*bench) {}, []string{"a"}, []string{"a"}},
		{"there is a better one by now", func(b *bench) { b.Node("c", "64") }, []string{"c", "b", "a"}, []string{"a"}},
		{"it is not among those asked about", func(*bench) {}, []string{"b"}, []string{"b"}},
		{"it fits no more", func(b *bench) { b.Node("a", "8", servertest.Cordoned) }, []string{"a", "b"}, []string{"b"}},
		{"it fits no more and is the only one asked about", func(b *bench) { b.Node("a", "8", servertest.Cordoned) }, []string{"a"}, []string{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b, pod := nominatedBench(t)
			if got := b.Cluster.Assumed(pod.UID); got != "a" {
				t.Fatalf("the nominated pod counts on %q, want a", got)
			}
			test.then(b)
			got := b.Filter(pod, test.among...)
			if diff := cmp.Diff(test.want, *got.NodeNames); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if got, want := b.Cluster.Assumed(pod.UID), strings.Join(test.want, ""); got != want {
				t.Errorf("the pod counts on %q, want %q", got, want)
			}
		})
	}
}

func TestAPlanGivesWayToAPodOfHigherPriorityThatFitsNowhereElse(t *testing.T) {
	b, low := nominatedBench(t)
	high := servertest.Pod("high", "8")
	high.Spec.Priority = new(int32(5))
	if got := b.Filter(high, "b", "a"); got.NodeNames == nil || !slices.Equal(*got.NodeNames, []string{"a"}) {
		t.Errorf("filter answers %+v, want a", got)
	}
	if got := b.Cluster.Assumed(low.UID); got != "" {
		t.Errorf("the pod of lower priority counts on %q still", got)
	}
}

func TestAPlanDoesNotGiveWayInVain(t *testing.T) {
	for name, change := range map[string]func(*corev1.Pod){
		"to one of equal priority": func(*corev1.Pod) {},
		"to one that is too large": func(pod *corev1.Pod) {
			pod.Spec.Priority, pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = new(int32(5)), resource.MustParse("9")
		},
		"to one that fits elsewhere": func(pod *corev1.Pod) {
			pod.Spec.Priority, pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = new(int32(5)), resource.MustParse("4")
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, low := nominatedBench(t)
			pod := servertest.Pod("other", "8")
			change(pod)
			b.Filter(pod, "b", "a")
			if got := b.Cluster.Assumed(low.UID); got != "a" {
				t.Errorf("the planned pod counts on %q, want a", got)
			}
		})
	}
}

func TestPodsThatAreOnlyPlannedAreNoVictims(t *testing.T) {
	b, planned := nominatedBench(t)
	running := servertest.Pod("running", "7")
	running.Spec.NodeName = "a"
	if err := b.Cluster.Set(running); err != nil {
		t.Fatal(err)
	}
	high := servertest.Pod("high", "8")
	high.Spec.Priority = new(int32(5))
	victims := map[string]*extenderv1.MetaVictims{"a": {Pods: []*extenderv1.MetaPod{{UID: string(running.UID)}}}}
	got := servertest.Ask[extenderv1.ExtenderPreemptionResult](
		b.Bench,
		"preempt",
		extenderv1.ExtenderPreemptionArgs{Pod: high, NodeNameToMetaVictims: victims},
	)
	if diff := cmp.Diff(extenderv1.ExtenderPreemptionResult{NodeNameToMetaVictims: victims}, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	if got := b.Cluster.Assumed(planned.UID); got != "a" {
		t.Errorf("the planned pod counts on %q", got)
	}
}
