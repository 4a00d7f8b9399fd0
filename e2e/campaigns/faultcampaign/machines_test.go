package faultcampaign

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
)

func TestMachinesEndPods(t *testing.T) {
	now := time.Now()
	ending := func(at time.Time) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: at} }
	}
	pending := func(p *corev1.Pod) { p.Spec.NodeName = "" }
	for name, test := range map[string]struct {
		events []watch.Event
		due    bool
	}{
		"a pod on a node":      {events: []watch.Event{shown(node("1")), shown(boundAt("2", "a"))}},
		"its time is not over": {events: []watch.Event{shown(boundAt("2", "a", ending(now.Add(time.Second))))}},
		"its time is over":     {events: []watch.Event{shown(boundAt("2", "a", ending(now.Add(-time.Second))))}, due: true},
		"it is gone already": {
			events: []watch.Event{shown(boundAt("2", "a", ending(now.Add(-time.Second)))), deleted(boundAt("3", "a"))},
		},
		"its node is lost":                    {events: []watch.Event{shown(boundAt("2", "a")), deleted(node("3"))}, due: true},
		"it is bound to a node that was lost": {events: []watch.Event{deleted(node("3")), shown(boundAt("4", "a"))}, due: true},
		"its node has returned":               {events: []watch.Event{deleted(node("3")), shown(node("4")), shown(boundAt("5", "a"))}},
		"nobody has told of its node yet":     {events: []watch.Event{shown(boundAt("5", "a"))}},
		"it is on no node":                    {events: []watch.Event{shown(boundAt("5", "a", pending))}},
	} {
		t.Run(name, func(t *testing.T) {
			m := NewMachines(nil)
			for _, e := range test.events {
				m.Observe(e)
			}
			if due := m.due(now); (len(due) > 0) != test.due {
				t.Errorf("%d pods are to end, want %t", len(due), test.due)
			}
		})
	}
}

func TestAPodThatSomebodyLooksAfterFailsBeforeItIsGone(t *testing.T) {
	for name, test := range map[string]struct {
		finalizers []string
		phase      corev1.PodPhase
		want       []string // what is done to it
	}{
		"of a Job":              {[]string{"batch.kubernetes.io/job-tracking"}, corev1.PodRunning, []string{"patch", "delete"}},
		"of a Job, and is over": {[]string{"batch.kubernetes.io/job-tracking"}, corev1.PodSucceeded, []string{"delete"}},
		"of nobody":             {nil, corev1.PodRunning, []string{"delete"}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := boundAt("1", "a")
			pod.Finalizers, pod.Status.Phase = test.finalizers, test.phase
			client := fake.NewClientset(pod)
			if err := NewMachines(client).end(t.Context(), []*corev1.Pod{pod}); err != nil {
				t.Fatal(err)
			}
			var done []string
			for _, action := range client.Actions() {
				done = append(done, action.GetVerb())
			}
			if !slices.Equal(done, test.want) {
				t.Errorf("%v, want %v", done, test.want)
			}
		})
	}
}

func shown(o runtime.Object) watch.Event   { return watch.Event{Type: watch.Modified, Object: o} }
func deleted(o runtime.Object) watch.Event { return watch.Event{Type: watch.Deleted, Object: o} }

func node(version string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", ResourceVersion: version}}
}

func boundAt(version, name string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: version},
		Spec:       corev1.PodSpec{NodeName: "n"},
	}
	for _, f := range change {
		f(p)
	}
	return p
}
