// Package podwatch follows what becomes of a cluster's pods.
//
// A [Watch] counts pods as the API server reports them, so a pod is bound when everybody
// may know it. Times are those at which this process heard of it.
package podwatch

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// Tally counts what has happened since the watch began.
type Tally struct {
	// Created and Bound count pods, deleted ones too.
	Created, Bound int
	// First and Last are when the first and the latest pod was seen bound.
	First, Last time.Time
}

// Rate is the number of pods bound per second between the first and the last binding.
func (t Tally) Rate() float64 {
	if span := t.Last.Sub(t.First).Seconds(); span > 0 {
		return float64(t.Bound-1) / span
	}
	return 0
}

// Observer is told of every change of a pod, one at a time and in the order in which the API
// server made them. before is nil for a new pod, now for one that is gone. It must not
// change them.
type Observer func(before, now *corev1.Pod)

// Watch follows pods until it is stopped. Its methods may be called from any goroutine.
type Watch struct {
	factory informers.SharedInformerFactory
	pods    corev1listers.PodLister
	cancel  context.CancelFunc
	tell    []Observer

	mu      sync.Mutex
	tally   Tally
	boundAt []time.Time
}

// Start begins to follow all pods and returns when the existing ones are counted. The caller must
// call Stop.
func Start(ctx context.Context, client kubernetes.Interface) (*Watch, error) {
	return StartFor(ctx, client, "")
}

// StartFor is Start for the pods that a label selector selects, with others who look on.
func StartFor(ctx context.Context, client kubernetes.Interface, selector string, observers ...Observer) (*Watch, error) {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(dropManagedFields),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = selector }))
	informer := factory.Core().V1().Pods()
	w := &Watch{factory: factory, pods: informer.Lister()}
	w.tell = append([]Observer{w.count}, observers...)
	handler, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { w.changed(nil, obj.(*corev1.Pod)) },
		UpdateFunc: func(before, now any) { w.changed(before.(*corev1.Pod), now.(*corev1.Pod)) },
		DeleteFunc: func(obj any) {
			if last, missed := obj.(cache.DeletedFinalStateUnknown); missed {
				obj = last.Obj
			}
			w.changed(obj.(*corev1.Pod), nil)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("watch pods: %w", err)
	}
	ctx, w.cancel = context.WithCancel(ctx)
	factory.StartWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), handler.HasSynced) {
		w.Stop()
		return nil, fmt.Errorf("watch pods: %w", context.Cause(ctx))
	}
	return w, nil
}

// Stop ends the watch and returns when its goroutines have ended.
func (w *Watch) Stop() {
	w.cancel()
	w.factory.Shutdown()
}

// Tally of this moment.
func (w *Watch) Tally() Tally {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tally
}

// BoundAt is when each pod was seen bound, in that order.
func (w *Watch) BoundAt() []time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.boundAt)
}

// Pods that exist. They are shared: callers must not change them.
func (w *Watch) Pods() ([]*corev1.Pod, error) { return w.pods.List(labels.Everything()) }

func (w *Watch) changed(before, now *corev1.Pod) {
	for _, tell := range w.tell {
		tell(before, now)
	}
}

func (w *Watch) count(before, now *corev1.Pod) {
	if now == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if before == nil {
		w.tally.Created++
	}
	if now.Spec.NodeName == "" || before != nil && before.Spec.NodeName != "" {
		return
	}
	w.tally.Bound++
	w.tally.Last = time.Now()
	w.boundAt = append(w.boundAt, w.tally.Last)
	if w.tally.Bound == 1 {
		w.tally.First = w.tally.Last
	}
}

func dropManagedFields(obj any) (any, error) {
	if p, ok := obj.(*corev1.Pod); ok {
		p.ManagedFields = nil
	}
	return obj, nil
}
