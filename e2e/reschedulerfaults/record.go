package reschedulerfaults

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/e2e/history"
)

// record is what the API server told of a run. Its methods are safe for concurrent use.
type record struct {
	bindings *history.Bindings

	mu      sync.Mutex
	entries []entry
	now     *state
	changed chan struct{} // closed with the next entry
	err     error         // why it is not complete
}

func newRecord() *record {
	return &record{bindings: history.NewBindings(), now: newState(), changed: make(chan struct{})}
}

func (r *record) observe(event watch.Event) {
	at := time.Now()
	r.bindings.Observe(event)
	object, ok := event.Object.(metav1.Object)
	if !ok {
		return
	}
	e, err := entry{at: at, gone: event.Type == watch.Deleted}, error(nil)
	switch object := event.Object.(type) {
	case *corev1.Node:
		e.node = object
	case *corev1.Pod:
		e.pod = object
	case *appsv1.ReplicaSet:
		e.set = &set{object.ObjectMeta, int(*object.Spec.Replicas)}
	case *appsv1.StatefulSet:
		e.set = &set{object.ObjectMeta, int(*object.Spec.Replicas)}
	case *batchv1.Job:
		e.set = &set{object.ObjectMeta, podsOfJob(object)}
	case *policyv1.PodDisruptionBudget:
		e.budget = object
	case *unstructured.Unstructured:
		if e.plan, err = v1alpha1.Decode(object); err != nil {
			err = fmt.Errorf("read a plan: %w", err)
		}
	}
	if err == nil {
		if e.version, err = strconv.ParseUint(object.GetResourceVersion(), 10, 64); err != nil {
			err = fmt.Errorf("resource version: %w", err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = cmp.Or(r.err, err)
	r.entries = append(r.entries, e)
	r.now.apply(e)
	close(r.changed)
	r.changed = make(chan struct{})
}

// look has somebody look at the state of now, and says when there is another one.
func (r *record) look(at func(*state)) (changed <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at(r.now)
	return r.changed
}

// empty says that there is nothing.
func (r *record) empty() (is bool) {
	r.look(func(s *state) {
		is = len(s.budgets) == 0
		for _, n := range s.nodes {
			is = is && n.gone
		}
		for _, p := range s.pods {
			is = is && p.gone
		}
		for _, p := range s.plans {
			is = is && p.gone
		}
		for _, set := range s.sets {
			is = is && set.gone
		}
	})
	return is
}

// history is all that was observed until a time, in the order in which it happened.
func (r *record) history(until time.Time) ([]entry, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	entries := slices.DeleteFunc(slices.Clone(r.entries), func(e entry) bool { return e.at.After(until) })
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(a.version, b.version) })
	return entries, r.err
}

// podsOfJob is how many pods a Job is to have by now: none when it fails or has failed, and less than it wants while it rests
// after others have ended, for as long as it likes.
func podsOfJob(job *batchv1.Job) int {
	for _, c := range job.Status.Conditions {
		if c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobFailed || c.Type == batchv1.JobFailureTarget) {
			return 0
		}
	}
	return int(job.Status.Active)
}
