package scaleup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"

	"muster.dev/muster/cluster"
	"muster.dev/muster/rescheduler/planner"
)

// world is a Teller, and an API server whose watch lags behind until show is called.
type world struct {
	*testing.T
	*Teller
	cluster *cluster.Cluster
	pods    map[string]*corev1.Pod // as the API server has them
	writes  []string               // the pod, and the reason or -
	events  *events.FakeRecorder
	err     error // of writes
}

func newWorld(t *testing.T) *world {
	t.Helper()
	log, registry := slog.New(slog.DiscardHandler), prometheus.NewRegistry()
	w := &world{T: t, pods: map[string]*corev1.Pod{}, events: events.NewFakeRecorder(1000)}
	w.cluster = cluster.New(cluster.Options{Logger: log, Registerer: registry, AssumeTTL: time.Hour})
	w.Teller = New(Options{
		Logger: log, Registerer: registry, Clock: clocktesting.NewFakePassiveClock(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)),
		Cluster: w.cluster, Client: w, Events: w.events,
	})
	w.set(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
	return w
}

func (w *world) set(objects ...runtime.Object) {
	w.Helper()
	for _, object := range objects {
		if err := w.cluster.Set(object.DeepCopyObject()); err != nil {
			w.Fatal(err)
		}
	}
}

// pod is a pod that waits, known to the API server and the watch.
func (w *world) pod(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	w.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)},
		Spec: corev1.PodSpec{
			SchedulerName: corev1.DefaultSchedulerName,
			Containers:    []corev1.Container{{Name: "c", Image: "example.com/c"}},
		},
	}
	for _, c := range change {
		c(pod)
	}
	w.pods[name] = pod
	w.set(pod)
	return pod
}

// show has the watch catch up.
func (w *world) show() {
	w.Helper()
	for _, pod := range w.pods {
		w.set(pod)
	}
}

func (w *world) SetCondition(_ context.Context, pod *corev1.Pod, condition corev1.PodCondition) error {
	return w.write(pod, condition.Reason, condition)
}

func (w *world) RemoveCondition(_ context.Context, pod *corev1.Pod, _ corev1.PodConditionType) error {
	return w.write(pod, "-")
}

func (w *world) write(pod *corev1.Pod, what string, conditions ...corev1.PodCondition) error {
	if w.err != nil {
		return w.err
	}
	w.writes = append(w.writes, pod.Name+" "+what)
	w.pods[pod.Name].Status.Conditions = conditions
	return nil
}

// needs is the verdict that pods need nodes for a reason of the planner, each for itself.
func (w *world) needs(reason string, names ...string) Verdict {
	w.Helper()
	plan := &planner.Plan{}
	for _, name := range names {
		plan.Unplaced = append(plan.Unplaced, w.refusal(reason, "default/"+name, name))
	}
	return VerdictOf(plan)
}

func (w *world) refusal(reason, group string, names ...string) planner.Refusal {
	w.Helper()
	refusal := planner.Refusal{Name: group, Reason: reason, Details: []planner.Detail{{Reason: "Insufficient cpu", Nodes: 2}}}
	waiting := planner.Waiting(w.cluster)
	for _, name := range names {
		at := slices.IndexFunc(waiting, func(pod *cluster.Pod) bool { return pod.Name == name })
		if at < 0 {
			w.Fatalf("pod %s does not wait", name)
		}
		refusal.Pods = append(refusal.Pods, waiting[at])
	}
	return refusal
}

func (w *world) wrote(want ...string) {
	w.Helper()
	if diff := cmp.Diff(want, w.writes); diff != "" {
		w.Errorf("writes (-want +got):\n%s", diff)
	}
	w.writes = nil
}

func (w *world) told() (all []string) {
	for len(w.events.Events) > 0 {
		all = append(all, <-w.events.Events)
	}
	return all
}

func TestAPodSaysOnceThatOnlyMoreNodesHelp(t *testing.T) {
	w := newWorld(t)
	w.pod("big")
	for range 2 { // the watch has not shown the write
		w.Tell(t.Context(), w.needs(planner.ReasonNoNode, "big"))
	}
	w.show()
	for range 2 {
		w.Tell(t.Context(), w.needs(planner.ReasonNoNode, "big"))
	}
	w.wrote("big NoNodeFits")
	got := w.pods["big"].Status.Conditions[0]
	want := corev1.PodCondition{
		Type:               "muster.dev/RearrangingHelps",
		Status:             corev1.ConditionFalse,
		Reason:             "NoNodeFits",
		LastTransitionTime: metav1.NewTime(w.Clock.Now()),
		Message: "moving other pods would not make room, only more nodes help: no node could take the pod, whatever pods were " +
			"moved: 2 nodes: Insufficient cpu",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("condition (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Warning RearrangingDoesNotHelp " + want.Message}, w.told()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	w.Tell(t.Context(), w.needs(planner.ReasonNoHomes, "big"))
	w.wrote("big NoOtherPlace")
}

func TestAPodSaysNothingAnyMoreWhen(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*world)
		want   []string
	}{
		"moving others helps by now":     {func(*world) {}, []string{"big -"}},
		"it has a node":                  {func(w *world) { w.pods["big"].Spec.NodeName = "n1"; w.show() }, []string{"big -"}},
		"another process has told of it": {func(w *world) { w.Teller.told = map[types.UID]string{} }, []string{"big -"}},
		"it is gone": {func(w *world) {
			if err := w.cluster.Delete(w.pods["big"]); err != nil {
				w.Fatal(err)
			}
			delete(w.pods, "big")
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.pod("big")
			w.Tell(t.Context(), w.needs(planner.ReasonNoNode, "big"))
			w.show()
			w.writes = nil
			test.change(w)
			for range 2 {
				w.Tell(t.Context(), Verdict{})
			}
			w.show()
			w.Tell(t.Context(), Verdict{})
			w.wrote(test.want...)
		})
	}
}

func TestWhatIsNotShownChangesNothing(t *testing.T) {
	for _, reason := range []string{planner.ReasonLate, planner.ReasonUnknownScheduler} {
		t.Run(reason, func(t *testing.T) {
			w := newWorld(t)
			w.pod("known")
			w.pod("new")
			w.Tell(t.Context(), w.needs(planner.ReasonProtected, "known"))
			w.wrote("known TooLittleMovable")
			w.show()
			w.Tell(t.Context(), w.needs(reason, "known", "new"))
			w.wrote()
		})
	}
}

func TestEachPodOfAGangSaysThatTheGangNeedsNodes(t *testing.T) {
	w := newWorld(t)
	w.pod("g-0")
	w.pod("g-1")
	w.Tell(t.Context(), VerdictOf(&planner.Plan{Unplaced: []planner.Refusal{w.refusal(planner.ReasonNoNode, "default/g", "g-0", "g-1")}}))
	w.wrote("g-0 NoNodeFits", "g-1 NoNodeFits")
	for _, event := range w.told() {
		if !strings.Contains(event, "would not make room for gang default/g, only more nodes help") {
			t.Errorf("told: %s", event)
		}
	}
	want := "# HELP muster_rescheduling_pods_needing_nodes Pods that wait although moving others was shown not to make room for them, " +
		"by reason: only more nodes help." + `
# TYPE muster_rescheduling_pods_needing_nodes gauge
muster_rescheduling_pods_needing_nodes{reason="NoNodeFits"} 2
`
	if err := testutil.CollectAndCompare(w.Teller.pods, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	w.Tell(t.Context(), Verdict{})
	if count := testutil.CollectAndCount(w.Teller.pods); count != 0 {
		t.Errorf("%d figures remain of pods that need nothing any more", count)
	}
}

func TestAWriteThatFailsIsMadeLater(t *testing.T) {
	w := newWorld(t)
	w.pod("big")
	w.err = errors.New("no")
	w.Tell(t.Context(), w.needs(planner.ReasonNoNode, "big"))
	if events := w.told(); len(events) > 0 {
		t.Errorf("told although it is not written: %v", events)
	}
	w.err = nil
	w.Tell(t.Context(), w.needs(planner.ReasonNoNode, "big"))
	w.wrote("big NoNodeFits")
}

func TestManyPodsAreToldOfInSeveralGoes(t *testing.T) {
	w := newWorld(t)
	var names []string
	for i := range maxWrites + 1 {
		names = append(names, fmt.Sprintf("pod-%03d", i))
		w.pod(names[i])
	}
	w.Tell(t.Context(), w.needs(planner.ReasonNoNode, names...))
	if len(w.writes) != maxWrites {
		t.Errorf("%d writes in one go", len(w.writes))
	}
	w.writes = nil
	w.Tell(t.Context(), w.needs(planner.ReasonNoNode, names...))
	w.wrote(names[maxWrites] + " NoNodeFits")
}

func TestALongMessageIsCutDown(t *testing.T) {
	w := newWorld(t)
	w.pod("big")
	refusal := w.refusal(planner.ReasonNoNode, "default/big", "big")
	for range 20 {
		refusal.Details = append(refusal.Details, planner.Detail{Reason: strings.Repeat("x", 100), Pods: 1})
	}
	got := message(refusal.Pods[0], &refusal)
	if !strings.HasSuffix(got, "; and 16 more") || len(got) > 1024 {
		t.Errorf("%d bytes: %s", len(got), got)
	}
	if len(refusal.Details) != 21 {
		t.Errorf("the refusal has %d details left", len(refusal.Details))
	}
}

func TestWithoutAClientPodsAreCountedAndNobodyIsTold(t *testing.T) {
	w := newWorld(t)
	w.Client = nil
	pod := w.pod("huge")
	w.Tell(t.Context(), Verdict{Needs: []planner.Refusal{{Pods: []*cluster.Pod{cluster.NewPod(pod)}, Reason: planner.ReasonNoNode}}})
	if got := testutil.ToFloat64(w.Teller.pods.WithLabelValues(ReasonNoNodeFits)); got != 1 || len(w.writes) > 0 || len(w.events.Events) > 0 {
		t.Errorf("%v pods are counted, written was %q, %d events", got, w.writes, len(w.events.Events))
	}
}
