package status

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
)

const (
	writers = 4
	// gather is how long more changes of a group are waited for before it is looked at: a
	// group that starts is written a few times, however many pods it has.
	gather = 500 * time.Millisecond
	// backoff is when a write that failed is tried again. It doubles each time.
	backoff, maxBackoff = 100 * time.Millisecond, 30 * time.Second
)

// Options of a Writer. All are required.
type Options[Key comparable] struct {
	Logger *slog.Logger
	Clock  clock.WithTicker
	Client dynamic.Interface
	Events *Events
	// Observe returns what is known of a group, false when it has no PodGroup. It is
	// called from several goroutines.
	Observe func(Key) (Observation, bool)
}

// Writer keeps the status of PodGroups true, which its caller tells apart by keys. Its
// methods are safe for concurrent use.
type Writer[Key comparable] struct {
	log     *slog.Logger
	clock   clock.PassiveClock
	client  dynamic.Interface
	events  *Events
	observe func(Key) (Observation, bool)
	queue   workqueue.TypedRateLimitingInterface[Key]

	mu sync.Mutex
	// written are the groups as they are since they were last written, which the watch may
	// show only later.
	written map[Key]*v1alpha1.PodGroup
}

// NewWriter returns a Writer, which must be run: that also ends what NewWriter starts.
func NewWriter[Key comparable](o Options[Key]) *Writer[Key] {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[Key](backoff, maxBackoff)
	return &Writer[Key]{
		log: o.Logger, clock: o.Clock, client: o.Client, events: o.Events, observe: o.Observe,
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(limiter,
			workqueue.TypedRateLimitingQueueConfig[Key]{Clock: o.Clock}),
		written: map[Key]*v1alpha1.PodGroup{},
	}
}

// Enqueue says that there may be something new of a group: of its PodGroup, also that it is
// gone, of its pods, or why it waits.
func (w *Writer[Key]) Enqueue(group Key) { w.queue.AddAfter(group, gather) }

// Run writes until the context ends.
func (w *Writer[Key]) Run(ctx context.Context) {
	var workers sync.WaitGroup
	for range writers {
		workers.Go(func() {
			for w.work(ctx) {
			}
		})
	}
	<-ctx.Done()
	w.queue.ShutDown()
	workers.Wait()
}

// work writes the next group, and returns false when there will be none.
func (w *Writer[Key]) work(ctx context.Context) bool {
	group, ended := w.queue.Get()
	if ended {
		return false
	}
	defer w.queue.Done(group)
	switch err := w.write(ctx, group); {
	case ctx.Err() != nil:
		return false
	case err == nil:
		w.queue.Forget(group)
	case apierrors.IsConflict(err): // the watch will show what somebody else wrote
		w.queue.AddRateLimited(group)
	default:
		w.log.Warn("cannot write the status of a PodGroup", slog.Any("gang", group), slog.Any("err", err))
		w.queue.AddRateLimited(group)
	}
	return true
}

// write makes the status of a group what it should be.
func (w *Writer[Key]) write(ctx context.Context, group Key) error {
	o, exists := w.observe(group)
	if !exists {
		w.remember(group, nil)
		return nil
	}
	o.PodGroup = w.latest(group, o.PodGroup)
	next := Next(o, w.clock.Now())
	if equality.Semantic.DeepEqual(o.PodGroup.Status, next) {
		return nil
	}
	written, err := w.patch(ctx, o.PodGroup, next)
	if apierrors.IsNotFound(err) {
		w.remember(group, nil)
		return nil
	}
	if err != nil {
		return err
	}
	w.remember(group, written)
	before := meta.FindStatusCondition(o.PodGroup.Status.Conditions, v1alpha1.PodGroupScheduledCondition)
	after := meta.FindStatusCondition(next.Conditions, v1alpha1.PodGroupScheduledCondition)
	if before == nil || before.Reason != after.Reason || before.Message != after.Message {
		reason, words := o.Say()
		w.events.Tell(Event{SchedulerName: o.SchedulerName, About: written, Reason: reason, Words: words})
	}
	return nil
}

// latest returns the group as it was last written, unless what the watch shows is newer.
func (w *Writer[Key]) latest(group Key, seen *v1alpha1.PodGroup) *v1alpha1.PodGroup {
	w.mu.Lock()
	defer w.mu.Unlock()
	written := w.written[group]
	if written == nil || written.UID != seen.UID || written.APIVersion != seen.APIVersion {
		return seen
	}
	if order, err := resourceversion.CompareResourceVersion(seen.ResourceVersion, written.ResourceVersion); err != nil || order > 0 {
		return seen
	}
	return written
}

func (w *Writer[Key]) remember(group Key, written *v1alpha1.PodGroup) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if written == nil {
		if former := w.written[group]; former != nil {
			w.events.forget(Event{About: former})
		}
		delete(w.written, group)
		return
	}
	w.written[group] = written
}

// patch writes a status to the very version of the PodGroup that is given, and returns
// what the PodGroup is then. If the CRD has no conditions the API server drops them: they
// are in what is returned all the same, so that they are not written again and again.
func (w *Writer[Key]) patch(ctx context.Context, podGroup *v1alpha1.PodGroup, next v1alpha1.PodGroupStatus) (*v1alpha1.PodGroup, error) {
	patch, err := statusPatch(podGroup, next)
	if err != nil {
		return nil, err
	}
	object, err := w.client.Resource(v1alpha1.ResourceOf(schema.FromAPIVersionAndKind(podGroup.APIVersion, podGroup.Kind).Group)).
		Namespace(podGroup.Namespace).
		Patch(ctx, podGroup.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: cluster.FieldManager}, "status")
	if err != nil {
		return nil, err
	}
	written := podGroup.DeepCopy()
	written.ResourceVersion = object.GetResourceVersion()
	written.Status = next
	return written, nil
}

// statusPatch returns the merge patch that gives a PodGroup a status.
func statusPatch(podGroup *v1alpha1.PodGroup, next v1alpha1.PodGroupStatus) ([]byte, error) {
	type identity struct {
		UID             types.UID `json:"uid"`
		ResourceVersion string    `json:"resourceVersion"`
	}
	type document struct {
		Metadata *identity               `json:"metadata,omitempty"`
		Status   v1alpha1.PodGroupStatus `json:"status"`
	}
	before, err := json.Marshal(document{Status: podGroup.Status})
	if err != nil {
		return nil, err
	}
	after, err := json.Marshal(document{Metadata: &identity{podGroup.UID, podGroup.ResourceVersion}, Status: next})
	if err != nil {
		return nil, err
	}
	return jsonmergepatch.CreateThreeWayJSONMergePatch(before, after, before)
}
