package cluster

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// apiObject is the type of objects that informers hand out.
type apiObject interface {
	runtime.Object
	metav1.Object
}

// resourceClient is the part of a client for one resource that a feed needs.
type resourceClient[L runtime.Object] interface {
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// listWatch lists and watches the objects that a field selector selects.
func listWatch[L runtime.Object](client resourceClient[L], selector string) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector = selector
			return client.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = selector
			return client.Watch(ctx, options)
		},
	}
}

// source is a resource to feed from, and what to do with its objects.
type source struct {
	resource string         // its name, as in "pods"
	example  runtime.Object // of the type of its objects
	client   any            // whose resource it is
	calls    *cache.ListWatch
	// optional says that a cluster may lack the resource, or deny it.
	optional    bool
	trim        cache.TransformFunc // Trim when nil
	watched     func(error)         // told of trouble with the calls, and of its end; may be nil
	set, remove func(apiObject)
}

// feed follows a source with an informer.
type feed struct {
	resource string
	optional bool
	informer cache.SharedIndexInformer
	handled  cache.ResourceEventHandlerRegistration
	health   *health
	reached  reached
}

func newFeed(s source, log *slog.Logger, watchErrors *prometheus.CounterVec) (*feed, error) {
	f := &feed{
		resource: s.resource,
		optional: s.optional,
		health:   &health{resource: s.resource, log: log, errors: watchErrors.WithLabelValues(s.resource), told: s.watched},
	}
	calls := cache.ToListWatcherWithWatchListSemantics(f.health.observed(s.calls), s.client)
	f.informer = cache.NewSharedIndexInformerWithOptions(calls, s.example, cache.SharedIndexInformerOptions{ObjectDescription: s.resource})
	trim := s.trim
	if trim == nil {
		trim = Trim
	}
	var err error
	f.handled, err = f.informer.AddEventHandler(f.reached.after(handler(s)))
	return f, errors.Join(err,
		f.informer.SetTransform(trim),
		// The calls themselves are observed, those included that the informer repeats without a word.
		f.informer.SetWatchErrorHandlerWithContext(func(context.Context, *cache.Reflector, error) {}),
	)
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
			if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = tombstone.Obj
			}
			if last, ok := object.(apiObject); ok {
				s.remove(last)
			}
		},
	}
}

// sameOnItsNode reports whether of a pod on a node nothing changed that is read, as when its kubelet
// reports that it still runs. The version of such a pod is not read either.
func sameOnItsNode(from, to apiObject) bool {
	before, is := from.(*corev1.Pod)
	after, still := to.(*corev1.Pod)
	return is && still && before.Spec.NodeName != "" && before.UID == after.UID && sameButVersion(before, after)
}

// health remembers whether a resource can be watched, and says so when that
// changes.
type health struct {
	resource string
	log      *slog.Logger
	errors   prometheus.Counter
	told     func(error) // who else is told, may be nil

	mu     sync.Mutex
	called bool
	reason metav1.StatusReason // why it cannot, "" when it can
}

// observed is calls under observation: an error of either is trouble, a watch
// that begins is the end of it.
func (h *health) observed(calls *cache.ListWatch) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, err := calls.ListWithContextFunc(ctx, options)
			if err != nil {
				h.observe(ctx, err)
			}
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			stream, err := calls.WatchFuncWithContext(ctx, options)
			if err != nil && options.SendInitialEvents != nil {
				// An ordinary list comes next and meets what there is to meet. Without its type the
				// error cannot keep the reflector in a loop of its own, where it sleeps through a stop.
				return nil, errors.New(err.Error())
			}
			h.observe(ctx, err)
			return stream, err
		},
	}
}

func (h *health) observe(ctx context.Context, err error) {
	if ctx.Err() != nil || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return // stopped, or told to list again
	}
	var reason metav1.StatusReason
	if err != nil {
		h.errors.Inc()
		if reason = apierrors.ReasonForError(err); reason == metav1.StatusReasonUnknown {
			reason = "Unreachable"
		}
	}
	h.mu.Lock()
	before, news := h.reason, !h.called || h.reason != reason
	h.called, h.reason = true, reason
	h.mu.Unlock()
	if news && h.told != nil {
		h.told(err)
	}
	switch reason {
	case before:
	case "":
		h.log.Info("watching a resource again", slog.String("resource", h.resource))
	default:
		h.log.Warn("cannot watch a resource", slog.String("resource", h.resource), slog.String("reason", string(reason)), slog.Any("err", err))
	}
}

func (h *health) state() metav1.StatusReason {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.reason
}
