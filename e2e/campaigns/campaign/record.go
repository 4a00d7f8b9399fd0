package campaign

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"muster.dev/muster/e2e/history"
)

// record is what the API server told of a run. Its methods are safe for concurrent use.
type record struct {
	*history.Bindings

	mu   sync.Mutex
	pods map[string]*past
}

// past is what became of a pod. Times are those at which this process heard of it.
type past struct {
	created, bound time.Time
	unschedulable  bool // the scheduler found no place for it, once
	preempted      bool
}

func newRecord() *record { return &record{Bindings: history.NewBindings(), pods: map[string]*past{}} }

func (r *record) observe(event watch.Event) {
	now := time.Now()
	r.Observe(event)
	if p, ok := event.Object.(*corev1.Pod); ok {
		r.note(p, now)
	}
}

// note keeps what is new about a pod.
func (r *record) note(p *corev1.Pod, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := r.pods[p.Name]
	if of == nil {
		of = &past{created: now}
		r.pods[p.Name] = of
	}
	for _, c := range p.Status.Conditions {
		switch {
		case c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable:
			of.unschedulable = true
		case c.Type == corev1.DisruptionTarget && c.Reason == corev1.PodReasonPreemptionByScheduler:
			of.preempted = true
		}
	}
	if p.Spec.NodeName != "" && of.bound.IsZero() {
		of.bound = now
	}
}

// isBound says whether a pod has been bound.
func (r *record) isBound(pod string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := r.pods[pod]
	return of != nil && !of.bound.IsZero()
}

// waits are the times from the creation to the binding of the pods that were bound.
func (r *record) waits() map[string]time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	waits := map[string]time.Duration{}
	for name, of := range r.pods {
		if !of.bound.IsZero() {
			waits[name] = of.bound.Sub(of.created)
		}
	}
	return waits
}

// count is how many pods were so.
func (r *record) count(so func(*past) bool) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, of := range r.pods {
		if so(of) {
			n++
		}
	}
	return n
}
