package watch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"muster.dev/muster/cluster"
)

// apiObject is the type of objects that informers hand out.
type apiObject interface {
	runtime.Object
	metav1.Object
}

// feed follows a source with an informer.
type feed struct {
	resource string
	optional bool
	informer cache.SharedIndexInformer
	handled  cache.ResourceEventHandlerRegistration
	health   *health
	reached  *reached // nil for a source that nobody catches up with
}

func newFeed(s source, log *slog.Logger, troubled *prometheus.CounterVec) (*feed, error) {
	f := &feed{
		resource: s.resource,
		optional: s.optional,
		health: &health{
			resource: s.resource, builtIn: s.builtIn, log: log, errors: troubled.WithLabelValues(s.resource), told: s.watched,
		},
	}
	calls := cache.ToListWatcherWithWatchListSemantics(f.health.observed(s.calls), s.client)
	f.informer = cache.NewSharedIndexInformerWithOptions(calls, s.example, cache.SharedIndexInformerOptions{ObjectDescription: s.resource})
	trim := s.trim
	if trim == nil {
		trim = cluster.Trimming()
	}
	handles := handler(s)
	if s.catchUp {
		f.reached = newReached()
		handles = f.reached.after(handles)
	}
	var err error
	f.handled, err = f.informer.AddEventHandler(handles)
	err = errors.Join(err,
		f.informer.SetTransform(trim),
		// The calls themselves are observed, those included that the informer repeats without a word.
		f.informer.SetWatchErrorHandlerWithContext(func(context.Context, *cache.Reflector, error) {}),
	)
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", s.resource, err)
	}
	return f, nil
}

// synced reports whether every object of the initial list was handed on. A feed that
// may do without its resource does not wait for one that is missing or denied.
func (f *feed) synced() bool {
	if f.handled.HasSynced() {
		return true
	}
	reason := f.health.state()
	return f.optional && (reason == metav1.StatusReasonForbidden || reason == metav1.StatusReasonNotFound)
}

func handler(s source) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) {
			s.set(object.(apiObject))
		},
		UpdateFunc: func(before, after any) {
			from, to := before.(apiObject), after.(apiObject)
			if from.GetResourceVersion() == to.GetResourceVersion() && to.GetResourceVersion() != "" {
				return // listed again, and the same
			}
			if from.GetUID() != to.GetUID() {
				s.remove(from) // a namesake; the watch missed that the first one was deleted
			}
			if !sameOnItsNode(from, to) {
				s.set(to)
			}
		},
		DeleteFunc: func(object any) {
			if last := lastOf(object); last != nil {
				s.remove(last)
			}
		},
	}
}

// lastOf returns the last state of an object that a handler is told to be gone, nil where that is not known.
func lastOf(gone any) apiObject {
	if tombstone, ok := gone.(cache.DeletedFinalStateUnknown); ok {
		gone = tombstone.Obj
	}
	last, _ := gone.(apiObject)
	return last
}

// sameOnItsNode reports whether of a pod on a node nothing changed that is read, as when its kubelet
// reports that it still runs. The version of such a pod is not read either.
func sameOnItsNode(from, to apiObject) bool {
	before, is := from.(*corev1.Pod)
	after, still := to.(*corev1.Pod)
	return is && still && before.Spec.NodeName != "" && before.UID == after.UID && cluster.SamePod(before, after)
}
