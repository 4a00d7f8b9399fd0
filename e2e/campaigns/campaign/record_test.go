package campaign

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

func TestTheRecordKnowsWhatBecameOfPods(t *testing.T) {
	r := newRecord()
	pending := boundAt("1", "a")
	pending.Spec.NodeName = ""
	pending.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Reason: corev1.PodReasonUnschedulable}}
	r.observe(shown(pending))
	if r.isBound("a") || len(r.waits()) != 0 {
		t.Errorf("a pending pod is bound: %t, waits: %v", r.isBound("a"), r.waits())
	}
	r.pods["a"].created = time.Now().Add(-time.Hour)
	evicted := boundAt("3", "a")
	evicted.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Reason: corev1.PodReasonPreemptionByScheduler}}
	r.observe(shown(boundAt("2", "a")))
	waited := r.waits()["a"]
	r.observe(shown(evicted))
	if !r.isBound("a") || waited < time.Hour || r.waits()["a"] != waited {
		t.Errorf("bound: %t, waited %s, later %s", r.isBound("a"), waited, r.waits()["a"])
	}
	both := r.count(func(p *past) bool { return p.unschedulable && p.preempted })
	if both != 1 {
		t.Errorf("%d pods were unschedulable and preempted, want 1", both)
	}
}

func shown(o runtime.Object) watch.Event { return watch.Event{Type: watch.Modified, Object: o} }

func boundAt(version, name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: version},
		Spec:       corev1.PodSpec{NodeName: "n"},
	}
}
