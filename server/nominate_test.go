package server

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config/v1alpha2"
	"muster.dev/muster/placement/nomination"
)

// writes are the names of pods whose nominations an API server was given.
type writes chan string

func (w writes) Nominate(_ context.Context, pod *corev1.Pod, _ string) error {
	w <- pod.Name
	return nil
}

// nominated is a bench with nodes a and b of which a is emptier, and pod p, which is
// nominated to it.
func nominated(t *testing.T) (*bench, *corev1.Pod) {
	t.Helper()
	b := newBench(t, benchOptions{selection: v1alpha2.NodeSelectionNominate})
	limits, written := nomination.DefaultLimits(time.Hour), make(writes, 1)
	limits.MinBacklog, limits.Gather = 1, time.Millisecond
	writer := nomination.NewWriter(b.server.log, prometheus.NewRegistry(), clock.RealClock{}, nomination.DefaultWriteLimits(500))
	b.server.extender.nominator = nomination.New(nomination.Options{
		Logger: b.server.log, Registerer: prometheus.NewRegistry(), Clock: clock.RealClock{}, Cluster: b.cluster,
		Profiles: b.server.extender.profiles, Client: written, Limits: limits,
		Skip:   func(*corev1.Pod) bool { return false },
		Writer: writer,
	})
	b.node("a", "8")
	b.node("b", "4")
	pod := newPod("p", "1")
	if err := b.cluster.Set(pod.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { writer.Run(ctx) })
	running.Go(func() { b.server.extender.nominator.Run(ctx) })
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
		{"there is a better one by now", func(b *bench) { b.node("c", "64") }, []string{"c", "b", "a"}, []string{"a"}},
		{"it is not among those asked about", func(*bench) {}, []string{"b"}, []string{"b"}},
		{"it fits no more", func(b *bench) { b.node("a", "8", cordoned) }, []string{"a", "b"}, []string{"b"}},
		{"it fits no more and is the only one asked about", func(b *bench) { b.node("a", "8", cordoned) }, []string{"a"}, []string{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b, pod := nominated(t)
			if got := b.cluster.Assumed(pod.UID); got != "a" {
				t.Fatalf("the nominated pod counts on %q, want a", got)
			}
			test.then(b)
			got := b.filter(pod, test.among...)
			if diff := cmp.Diff(test.want, *got.NodeNames); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if got, want := b.cluster.Assumed(pod.UID), strings.Join(test.want, ""); got != want {
				t.Errorf("the pod counts on %q, want %q", got, want)
			}
		})
	}
}

func TestThePlacementPageShowsWhatIsInFlight(t *testing.T) {
	b, pod := nominated(t)
	if status, page := b.get("/debug/placement"); status != http.StatusOK || !strings.Contains(page, "default/p") {
		t.Errorf("answered %d:\n%s", status, page)
	}
	if _, page := b.get("/debug/explain?pod=default/p"); !strings.Contains(page, "node a, attempt 1") {
		t.Errorf("the explanation does not tell of the nomination:\n%s", page)
	}
	b.filter(pod, "a")
	if _, page := b.get("/debug/explain?pod=default/p"); !strings.Contains(page, "nomination: taken") {
		t.Errorf("the explanation does not tell that the scheduler has the pod:\n%s", page)
	}
}

func TestThePlacementPageSaysWhenThereIsNothingToShow(t *testing.T) {
	b := newBench(t, benchOptions{})
	if status, page := b.get("/debug/placement"); status != http.StatusNotFound ||
		!strings.HasPrefix(page, "placement: there is no API server") {
		t.Errorf("answered %d: %s", status, page)
	}
}

func TestAPlanGivesWayToAPodOfHigherPriorityThatFitsNowhereElse(t *testing.T) {
	b, low := nominated(t)
	high := newPod("high", "8")
	high.Spec.Priority = new(int32(5))
	if got := b.filter(high, "b", "a"); got.NodeNames == nil || !slices.Equal(*got.NodeNames, []string{"a"}) {
		t.Errorf("filter answers %+v, want a", got)
	}
	if got := b.cluster.Assumed(low.UID); got != "" {
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
			b, low := nominated(t)
			pod := newPod("other", "8")
			change(pod)
			b.filter(pod, "b", "a")
			if got := b.cluster.Assumed(low.UID); got != "a" {
				t.Errorf("the planned pod counts on %q, want a", got)
			}
		})
	}
}

func TestPodsThatAreOnlyPlannedAreNoVictims(t *testing.T) {
	b, planned := nominated(t)
	running := newPod("running", "7")
	running.Spec.NodeName = "a"
	if err := b.cluster.Set(running); err != nil {
		t.Fatal(err)
	}
	high := newPod("high", "8")
	high.Spec.Priority = new(int32(5))
	victims := map[string]*extenderv1.MetaVictims{"a": {Pods: []*extenderv1.MetaPod{{UID: string(running.UID)}}}}
	got := ask[extenderv1.ExtenderPreemptionResult](b, "preempt", extenderv1.ExtenderPreemptionArgs{Pod: high, NodeNameToMetaVictims: victims})
	if diff := cmp.Diff(extenderv1.ExtenderPreemptionResult{NodeNameToMetaVictims: victims}, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	if got := b.cluster.Assumed(planned.UID); got != "a" {
		t.Errorf("the planned pod counts on %q", got)
	}
}
