package campaign

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"muster.dev/muster/e2e/history"
)

// record holds what the API server told of a run. Its methods are safe for concurrent use.
type record struct {
	*history.Bindings

	mu    sync.Mutex
	pods  map[string]*past
	lives map[types.UID]*lifetime
}

// lifetime is when a pod was on a node first, and when it had finished or gone; zero for never.
type lifetime struct{ bound, over time.Time }

// past is the fate of a pod. Times are when this process heard of it.
type past struct {
	bound         time.Time
	unschedulable bool // the scheduler found no place for it, once
	preempted     bool
}

func newRecord() *record {
	return &record{Bindings: history.NewBindings(), pods: map[string]*past{}, lives: map[types.UID]*lifetime{}}
}

func (r *record) observe(event watch.Event) {
	now := time.Now()
	r.Observe(event)
	r.mu.Lock()
	defer r.mu.Unlock()
	if p, ok := event.Object.(*corev1.Pod); ok {
		r.note(p, now)
		r.live(p, event.Type == watch.Deleted, now)
	}
}

// live keeps when a pod was bound and when it was over.
func (r *record) live(p *corev1.Pod, gone bool, now time.Time) {
	l := r.lives[p.UID]
	if l == nil {
		l = &lifetime{}
		r.lives[p.UID] = l
	}
	if p.Spec.NodeName != "" && l.bound.IsZero() {
		l.bound = now
	}
	if finished := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed; l.over.IsZero() && (finished || gone) {
		l.over = now
	}
}

// life is when a pod was bound, and had finished or gone.
func (r *record) life(pod types.UID) (bound, over time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l := r.lives[pod]; l != nil {
		return l.bound, l.over
	}
	return bound, over
}

// note keeps what is new about a pod.
func (r *record) note(p *corev1.Pod, now time.Time) {
	of := r.pods[p.Name]
	if of == nil {
		of = &past{}
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
