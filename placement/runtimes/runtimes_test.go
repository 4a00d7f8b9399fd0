package runtimes

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
)

func says(runtime string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations = map[string]string{v1alpha1.AnnotationExpectedRuntime: runtime} }
}

func deadline(seconds int64) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = &seconds }
}

func TestAPodSaysHowLongItRuns(t *testing.T) {
	for name, test := range map[string]struct {
		says  []func(*corev1.Pod)
		want  time.Duration
		known bool
	}{
		"nothing":                      {},
		"by the annotation":            {[]func(*corev1.Pod){says("2h30m")}, 150 * time.Minute, true},
		"by its deadline":              {[]func(*corev1.Pod){deadline(90)}, 90 * time.Second, true},
		"its deadline goes before":     {[]func(*corev1.Pod){deadline(90), says("10s")}, 90 * time.Second, true},
		"of a deadline of nothing":     {[]func(*corev1.Pod){deadline(0), says("10s")}, 10 * time.Second, true},
		"of a deadline without an end": {[]func(*corev1.Pod){deadline(1 << 62), says("10s")}, 10 * time.Second, true},
		"a number":                     {says: []func(*corev1.Pod){says("90")}, want: 0},
		"no time":                      {says: []func(*corev1.Pod){says("0s")}, want: 0},
		"less than no time":            {says: []func(*corev1.Pod){says("-5s")}, want: -5 * time.Second},
		"more than ten years":          {says: []func(*corev1.Pod){says("87601h")}, want: 87601 * time.Hour},
		"more than can be read":        {says: []func(*corev1.Pod){says("9999999999h")}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{}
			for _, f := range test.says {
				f(pod)
			}
			if got, by := said(pod); (by != "") != test.known || test.known && got != test.want {
				t.Errorf("it runs for %s by %q, want %s, %t", got, by, test.want, test.known)
			}
		})
	}
}

// world is a cluster whose API server is ahead of this process by a day.
type world struct {
	*testing.T
	cluster *cluster.Cluster
	here    *clocktesting.FakeClock
	stamps  *Clock
	history *History
}

const ahead = 24 * time.Hour

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, here: clocktesting.NewFakeClock(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))}
	w.stamps, w.history = NewClock(w.here), NewHistory(prometheus.NewRegistry())
	w.cluster = cluster.New(cluster.Options{
		Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), AssumeTTL: time.Hour, Live: true,
	})
	if err := w.cluster.Set(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "n"}}); err != nil {
		t.Fatal(err)
	}
	return w
}

// bound has a pod be bound so long ago.
func (w *world) bound(name string, ago time.Duration, change ...func(*corev1.Pod)) {
	w.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "default", UID: types.UID(name), CreationTimestamp: metav1.NewTime(w.here.Now().Add(ahead - max(ago, 0))),
		},
		Spec: corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "main"}}},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(w.here.Now().Add(ahead - ago)),
		}}},
	}
	for _, f := range change {
		f(pod)
	}
	if err := w.cluster.Set(pod); err != nil {
		w.Fatal(err)
	}
}

// ends says when pods end, from now.
func (w *world) ends() (ends []string) {
	all := See(w.cluster.Snapshot(), w.stamps, w.history)
	for _, end := range all.Of {
		ends = append(ends, fmt.Sprint(end.Pod.Name, " in ", w.stamps.Here(end.At).Sub(w.here.Now())))
	}
	return ends
}

func TestEndsAreToldByTheStampsOfTheAPIServerAlone(t *testing.T) {
	w := newWorld(t)
	w.bound("first", 50*time.Second, says("1m"))
	w.bound("second", 10*time.Second, deadline(60))
	w.bound("unknown", time.Second)
	w.bound("newest", 0, says("5s"))
	w.bound("late", 90*time.Second, says("1m"))
	w.bound("of-another-clock", -time.Hour, says("9s")) // a kubelet's
	w.bound("of-a-daemon-set", time.Second, says("1s"), func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Name: "d", UID: "d", Controller: new(true)}}
	})
	w.bound("deleted", time.Minute, func(p *corev1.Pod) {
		p.DeletionTimestamp = &metav1.Time{Time: w.here.Now().Add(ahead + 20*time.Second)}
	})
	ends := w.ends()
	want := []string{"newest in 5s", "of-another-clock in 9s", "first in 10s", "late in 10s", "deleted in 20s", "second in 50s"}
	if diff := cmp.Diff(want, ends); diff != "" {
		t.Errorf("ends (-want +got):\n%s", diff)
	}
	w.here.Step(4 * time.Second)
	ends = w.ends()
	want = []string{"newest in 1s", "first in 6s", "late in 6s", "of-another-clock in 9s", "deleted in 16s", "second in 46s"}
	if diff := cmp.Diff(want, ends); diff != "" {
		t.Errorf("ends after four seconds (-want +got):\n%s", diff)
	}
}

func TestThePodOfAnotherAgeIsNotExpectedToEnd(t *testing.T) {
	w := newWorld(t)
	w.bound("newest", 0, says("5s"))
	w.bound("without-a-stamp", 0, says("1m"), func(p *corev1.Pod) { p.Status.Conditions[0].LastTransitionTime = metav1.Time{} })
	if ends := w.ends(); len(ends) != 1 {
		t.Errorf("ends are %v, want one", ends)
	}
}

func TestTheEndOfAPodIsKnownBeforeTheWatchShowsThatItIsBound(t *testing.T) {
	w := newWorld(t)
	w.bound("newest", 0, says("5s"))
	w.ends() // the clock sees its stamp
	w.here.Step(time.Second)
	pending := cluster.NewPod(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "assumed", Namespace: "default", UID: "assumed", Annotations: map[string]string{v1alpha1.AnnotationExpectedRuntime: "1m"},
		},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(w.here.Now().Add(ahead - time.Hour)),
		}}},
	})
	if err := w.cluster.AssumeAll([]*cluster.Pod{pending}, w.cluster.Snapshot().NodeByName("n")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"newest in 4s", "assumed in 1m0s"}, w.ends()); diff != "" {
		t.Errorf("ends (-want +got):\n%s", diff)
	}
}
