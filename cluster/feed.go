package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/wait"
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
	optional bool
	// builtIn says that it is optional and nothing defines it: a cluster that lacks it is no trouble.
	builtIn     bool
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
		health: &health{
			resource: s.resource, builtIn: s.builtIn, log: log, errors: watchErrors.WithLabelValues(s.resource), told: s.watched,
		},
	}
	calls := cache.ToListWatcherWithWatchListSemantics(f.health.observed(s.calls), s.client)
	f.informer = cache.NewSharedIndexInformerWithOptions(calls, s.example, cache.SharedIndexInformerOptions{ObjectDescription: s.resource})
	trim := s.trim
	if trim == nil {
		trim = Trimming()
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
	builtIn  bool
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
	reason := reasonOf(err)
	lacks := h.builtIn && reason == metav1.StatusReasonNotFound
	if err != nil && !lacks {
		h.errors.Inc()
	}
	h.mu.Lock()
	before, news := h.reason, !h.called || h.reason != reason
	h.called, h.reason = true, reason
	h.mu.Unlock()
	if news && h.told != nil {
		h.told(err)
	}
	switch {
	case reason == before:
	case reason == "":
		h.log.Info("watching a resource again", slog.String("resource", h.resource))
	case lacks:
		h.log.Debug("the cluster does not serve a resource", slog.String("resource", h.resource))
	default:
		h.log.Warn("cannot watch a resource", slog.String("resource", h.resource), slog.String("reason", string(reason)), slog.Any("err", err))
	}
}

// reasonOf returns the API server's reason for an error, "" for none.
func reasonOf(err error) metav1.StatusReason {
	if err == nil {
		return ""
	}
	if reason := apierrors.ReasonForError(err); reason != metav1.StatusReasonUnknown {
		return reason
	}
	return "Unreachable"
}

func (h *health) state() metav1.StatusReason {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.reason
}

// catchUpPage is how many pods are listed in one go.
const catchUpPage = 5000

// reached is the version of the last object that was taken in of a resource. A watch tells of objects
// in the order of their versions, so all that happened until then is in the view as well. The zero value is
// before the first object.
type reached struct{ version atomic.Pointer[string] }

// after takes note once a handler has taken an object in.
func (r *reached) after(h cache.ResourceEventHandler) cache.ResourceEventHandler {
	note := func(object any) {
		if o, ok := object.(apiObject); ok { // else it is not known when it went
			r.note(o.GetResourceVersion())
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { h.OnAdd(object, false); note(object) },
		UpdateFunc: func(before, after any) { h.OnUpdate(before, after); note(after) },
		DeleteFunc: func(object any) { h.OnDelete(object); note(object) },
	}
}

// note takes note of a version. It is for one goroutine.
func (r *reached) note(version string) {
	if !r.has(version) {
		r.version.Store(&version)
	}
}

// has reports whether a version is not later than the last one, or is none.
func (r *reached) has(version string) bool {
	last := r.version.Load()
	if last == nil {
		return version == ""
	}
	after, err := resourceversion.CompareResourceVersion(version, *last)
	return err != nil || after <= 0
}

// CatchUp waits until the view has every pod as it is now, or later. However late the watch was, the view then
// has everything that others did before the call. It lists the metadata of all pods, again and again, so it is
// for rare occasions. The error, when the context ends before, says what is missing.
func (w *Watcher) CatchUp(ctx context.Context) error {
	if w.metadata == nil {
		return errors.New("to catch up takes a metadata client")
	}
	pods := w.feed("pods")
	missing := errors.New("the pods are not listed yet")
	err := wait.PollUntilContextCancel(ctx, syncPoll, true, func(ctx context.Context) (bool, error) {
		var version string
		if version, missing = w.latestPod(ctx); missing != nil {
			return false, nil
		}
		// Soon, or a pod that has gone since was the latest one.
		short, cancel := context.WithTimeout(ctx, catchUpRelist)
		defer cancel()
		err := wait.PollUntilContextCancel(short, syncPoll, true, func(context.Context) (bool, error) { return pods.reached.has(version), nil })
		if err != nil {
			missing = fmt.Errorf("the watch has not shown the pod of resource version %s yet", version)
		}
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("catch up with the API server: %w", missing)
	}
	return nil
}

// feed returns the feed of a resource of the core API.
func (w *Watcher) feed(resource string) *feed {
	return w.feeds[slices.IndexFunc(w.feeds, func(f *feed) bool { return f.resource == resource })]
}

// latestPod returns the highest version of the present pods, "" when there are none.
func (w *Watcher) latestPod(ctx context.Context) (latest string, err error) {
	pods := w.metadata.Resource(corev1.SchemeGroupVersion.WithResource("pods"))
	var last reached
	for options := (metav1.ListOptions{FieldSelector: unfinished, Limit: catchUpPage}); ; {
		list, err := pods.List(ctx, options)
		if err != nil {
			return "", fmt.Errorf("list pods: %w", err)
		}
		for i := range list.Items {
			last.note(list.Items[i].ResourceVersion)
		}
		if options.Continue = list.Continue; options.Continue == "" {
			break
		}
	}
	if version := last.version.Load(); version != nil {
		return *version, nil
	}
	return "", nil
}
