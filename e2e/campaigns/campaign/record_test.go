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
	if r.isBound("a") {
		t.Error("a pending pod is bound")
	}
	evicted := boundAt("3", "a")
	evicted.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Reason: corev1.PodReasonPreemptionByScheduler}}
	r.observe(shown(boundAt("2", "a")))
	r.observe(shown(evicted))
	bound, over := r.life("a")
	if !r.isBound("a") || bound.IsZero() || !over.IsZero() {
		t.Errorf("bound: %t, at %s, and over at %s", r.isBound("a"), bound, over)
	}
	r.observe(watch.Event{Type: watch.Deleted, Object: evicted})
	if _, over := r.life("a"); over.IsZero() {
		t.Error("a pod that is gone is there")
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

// moment is an observation at a time: an event, or the pods that muster has plans for.
type moment struct {
	at      time.Duration
	event   *watch.Event
	planned []string
}

func TestNominationsWithoutAPlanAreOrphans(t *testing.T) {
	const planned = "default/pod"
	for name, test := range map[string]struct {
		moments []moment
		longest time.Duration
		tooLong int
	}{
		"as long as muster has a plan": {
			moments: []moment{{event: nominatedBy("muster", "a")}, {planned: []string{planned}}, {at: time.Hour, planned: []string{planned}}},
		},
		"muster never had a plan": {
			moments: []moment{{event: nominatedBy("muster", "a")}, {}, {at: 31 * time.Second}, {at: time.Minute}},
			longest: time.Minute, tooLong: 1,
		},
		"muster forgot it": {
			moments: []moment{{event: nominatedBy("muster", "a")}, {planned: []string{planned}}, {at: time.Minute}, {at: 2 * time.Minute}},
			longest: time.Minute, tooLong: 1,
		},
		"muster has a plan for another pod": {
			moments: []moment{{event: nominatedBy("muster", "a")}, {planned: []string{"default/other"}}, {at: 31 * time.Second}},
			longest: 31 * time.Second, tooLong: 1,
		},
		"just not too long": {
			moments: []moment{{event: nominatedBy("muster", "a")}, {}, {at: 30 * time.Second}},
			longest: 30 * time.Second,
		},
		"muster is started again and takes it on": {
			moments: []moment{
				{event: nominatedBy("muster", "a")},
				{},
				{at: 20 * time.Second},
				{at: 25 * time.Second, planned: []string{planned}},
				{at: 40 * time.Second},
				{at: 50 * time.Second},
			},
			longest: 20 * time.Second,
		},
		"kube-scheduler's nomination": {
			moments: []moment{{event: nominatedBy("kube-scheduler", "a")}, {}, {at: time.Minute}},
		},
		"kube-scheduler takes it back": {
			moments: []moment{{event: nominatedBy("muster", "a")}, {}, {event: nominatedBy("kube-scheduler", "")}, {at: time.Minute}},
		},
		"kube-scheduler nominates another node": {
			moments: []moment{{event: nominatedBy("muster", "a")}, {}, {event: nominatedBy("kube-scheduler", "b")}, {at: time.Minute}},
		},
		"something else of the pod changes": {
			moments: []moment{
				{event: nominatedBy("muster", "a")}, {}, {at: 20 * time.Second, event: nominatedBy("muster", "a")}, {at: 40 * time.Second},
			},
			longest: 40 * time.Second, tooLong: 1,
		},
		"the pod is bound": {
			moments: []moment{{event: nominatedBy("muster", "a")}, {}, {event: nominatedBy("muster", "a", bind)}, {at: time.Minute}},
		},
		"the pod is deleted": {
			moments: []moment{
				{event: nominatedBy("muster", "a")},
				{},
				{event: &watch.Event{Type: watch.Deleted, Object: nominatedBy("muster", "a").Object}},
				{at: time.Minute},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o, began := newOrphans(), time.Now()
			for _, m := range test.moments {
				if m.event != nil {
					o.observe(*m.event)
					continue
				}
				planned := map[string]bool{}
				for _, pod := range m.planned {
					planned[pod] = true
				}
				o.check(began.Add(m.at), planned)
			}
			if o.longest != test.longest || len(o.tooLong) != test.tooLong {
				t.Errorf("longest %s, %d too long (%v); want %s, %d", o.longest, len(o.tooLong), o.tooLong, test.longest, test.tooLong)
			}
		})
	}
}

func TestAnOrphanIsASuspectUntilItIsConvicted(t *testing.T) {
	o, began := newOrphans(), time.Now()
	o.observe(*nominatedBy("muster", "a"))
	for _, moment := range []struct {
		at      time.Duration
		planned map[string]bool
		want    int
	}{
		{at: 0, planned: map[string]bool{"default/pod": true}, want: 0},
		{at: time.Second, want: 1},
		{at: 30 * time.Second, want: 1},
		{at: 32 * time.Second, want: 0},
	} {
		o.check(began.Add(moment.at), moment.planned)
		if got := o.suspects(); got != moment.want {
			t.Errorf("at %s there are %d suspects, want %d", moment.at, got, moment.want)
		}
	}
}

// nominatedBy shows a pod that somebody nominated to a node.
func nominatedBy(manager, node string, change ...func(*corev1.Pod)) *watch.Event {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "pod", Namespace: "default", UID: "uid",
		ManagedFields: []metav1.ManagedFieldsEntry{
			{Manager: "creator", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:schedulerName":{}}}`)},
			{Manager: "conditioner", Subresource: "status", FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:conditions":{}}}`)},
			{Manager: manager, Subresource: "status", FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:nominatedNodeName":{}}}`)},
		},
	}}
	p.Status.NominatedNodeName = node
	for _, f := range change {
		f(p)
	}
	return &watch.Event{Type: watch.Modified, Object: p}
}

func bind(p *corev1.Pod) { p.Spec.NodeName = "a" }
