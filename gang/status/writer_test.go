package status

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

// world is an API server with one PodGroup, and a manager that sees it by a watch, around a
// Writer. It lives in a synctest bubble, and takes its time from there.
type world struct {
	*testing.T
	writer   *Writer[string]
	client   *dynamicfake.FakeDynamicClient
	recorder *events.FakeRecorder
	resource schema.GroupVersionResource

	// answer, unless it is nil, comes before the API server's own to a patch.
	answer func() error
	// prunes says that the CRD knows no conditions.
	prunes bool

	mu      sync.Mutex
	patches []string
	seen    *Observation // what the manager knows, nil when it knows no PodGroup
}

// key is the manager's key of the group.
const key = "the group"

// inWorld runs a test, and a Writer beside it, with a PodGroup of an API group.
func inWorld(t *testing.T, apiGroup string, test func(*world)) {
	synctest.Test(t, func(t *testing.T) {
		podGroup := newPodGroup(v1alpha1.PodGroupStatus{})
		podGroup.APIVersion = v1alpha1.ResourceOf(apiGroup).GroupVersion().String()
		w := &world{T: t, resource: v1alpha1.ResourceOf(apiGroup), recorder: events.NewFakeRecorder(100)}
		w.client = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
			map[schema.GroupVersionResource]string{w.resource: "PodGroupList"}, toUnstructured(t, podGroup))
		w.client.PrependReactor("patch", v1alpha1.Resource, w.patch)
		w.writer = NewWriter(Options[string]{
			Logger: slog.New(slog.DiscardHandler), Clock: clock.RealClock{}, Client: w.client,
			Events: NewEvents(func(string) events.EventRecorder { return w.recorder }, clock.RealClock{}), Observe: w.observe,
		})
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { w.writer.Run(ctx) })
		test(w)
		stop()
		running.Wait()
	})
}

func toUnstructured(t *testing.T, podGroup *v1alpha1.PodGroup) *unstructured.Unstructured {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(podGroup)
	if err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: content}
}

// patch is the API server: it holds versions against each other, and gives out new ones.
func (w *world) patch(action clienttesting.Action) (bool, runtime.Object, error) {
	patch := action.(clienttesting.PatchAction)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.patches = append(w.patches, patch.GetSubresource()+" "+string(patch.GetPatch()))
	if w.answer != nil {
		if err := w.answer(); err != nil {
			return true, nil, err
		}
	}
	before, err := w.client.Tracker().Get(w.resource, patch.GetNamespace(), patch.GetName())
	if err != nil {
		return true, nil, err
	}
	var given struct {
		Metadata struct{ UID, ResourceVersion string }
	}
	if err := json.Unmarshal(patch.GetPatch(), &given); err != nil {
		return true, nil, err
	}
	object := before.(*unstructured.Unstructured)
	if given.Metadata.UID != string(object.GetUID()) || given.Metadata.ResourceVersion != object.GetResourceVersion() {
		return true, nil, apierrors.NewConflict(w.resource.GroupResource(), patch.GetName(), errors.New("another version"))
	}
	_, after, err := clienttesting.ObjectReaction(w.client.Tracker())(action)
	if err != nil {
		return true, nil, err
	}
	object = after.(*unstructured.Unstructured)
	if w.prunes {
		unstructured.RemoveNestedField(object.Object, "status", "conditions")
	}
	return true, object, w.store(object)
}

// store gives an object that the API server has another version.
func (w *world) store(object *unstructured.Unstructured) error {
	version, err := strconv.Atoi(object.GetResourceVersion())
	object.SetResourceVersion(strconv.Itoa(version + 1))
	return errors.Join(err, w.client.Tracker().Update(w.resource, object, object.GetNamespace()))
}

// change has somebody else change the PodGroup.
func (w *world) change(f func(*unstructured.Unstructured)) {
	w.Helper()
	object := w.stored()
	f(object)
	if err := w.store(object); err != nil {
		w.Fatal(err)
	}
}

func (w *world) stored() *unstructured.Unstructured {
	w.Helper()
	object, err := w.client.Tracker().Get(w.resource, "default", "g")
	if err != nil {
		w.Fatal(err)
	}
	return object.(*unstructured.Unstructured).DeepCopy()
}

// watch has the manager see the PodGroup as it is now.
func (w *world) watch() {
	w.Helper()
	podGroup, err := v1alpha1.Decode(w.stored())
	if err != nil {
		w.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen == nil {
		w.seen = &Observation{}
	}
	w.seen.PodGroup = podGroup
}

// count has the manager know that many pods.
func (w *world) count(counts Counts) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen.Counts = counts
}

func (w *world) observe(string) (Observation, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen == nil {
		return Observation{}, false
	}
	return *w.seen, true
}

// enqueue tells the Writer, and lets it write.
func (w *world) enqueue() {
	w.writer.Enqueue(key)
	w.pass(gather)
}

// pass lets time pass, and what is due then be done.
func (w *world) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
	w.writer.events.Due()
}

// expect compares the number of patches since it was last called, the status as the API
// server has it, and the events.
func (w *world) expect(patches int, want v1alpha1.PodGroupStatus, events ...string) {
	w.Helper()
	w.mu.Lock()
	sent := w.patches
	w.patches = nil
	w.mu.Unlock()
	if len(sent) != patches {
		w.Errorf("%d patches, want %d: %q", len(sent), patches, sent)
	}
	got, err := v1alpha1.Decode(w.stored())
	if err != nil {
		w.Fatal(err)
	}
	for i := range got.Status.Conditions { // times are Next's
		got.Status.Conditions[i].LastTransitionTime.Reset()
	}
	got.Status.ScheduleStartTime = nil
	if diff := cmp.Diff(want, got.Status); diff != "" {
		w.Errorf("status, want (-) got (+):\n%s", diff)
	}
	if diff := cmp.Diff(events, recorded(w.recorder)); diff != "" {
		w.Errorf("events, want (-) got (+):\n%s", diff)
	}
}

// The statuses of a group of three with one, two and three pods, and what is told of
// them.
func onePod() v1alpha1.PodGroupStatus {
	return v1alpha1.PodGroupStatus{Phase: "Pending", Conditions: condition("False", MembersMissing, "1 of 3 pods exist", time.Time{})}
}

func twoPods() v1alpha1.PodGroupStatus {
	return v1alpha1.PodGroupStatus{Phase: "Pending", Conditions: condition("False", MembersMissing, "2 of 3 pods exist", time.Time{})}
}

func threeBound() v1alpha1.PodGroupStatus {
	return v1alpha1.PodGroupStatus{
		Phase: "Scheduled", Scheduled: 3, Conditions: condition("True", Scheduled, "at least 3 pods are bound", time.Time{}),
	}
}

const (
	onePodTold     = "Normal MembersMissing 1 of 3 pods exist"
	threeBoundTold = "Normal Scheduled at least 3 pods are bound"
)

func TestTheStatusIsWrittenInTheAPIGroupOfThePodGroup(t *testing.T) {
	for _, apiGroup := range []string{v1alpha1.GroupX, v1alpha1.GroupSigs} {
		t.Run(apiGroup, func(t *testing.T) {
			inWorld(t, apiGroup, func(w *world) {
				w.watch()
				w.count(Counts{Bound: 3})
				w.enqueue()
				w.expect(1, threeBound(), threeBoundTold)
			})
		})
	}
}

func TestAPatchIsForAVersionAndHasOnlyWhatChanged(t *testing.T) {
	inWorld(t, v1alpha1.GroupX, func(w *world) {
		w.change(func(object *unstructured.Unstructured) {
			status := map[string]any{"phase": "Running", "running": int64(3), "succeeded": int64(1), "members": int64(4)}
			if err := unstructured.SetNestedMap(object.Object, status, "status"); err != nil {
				w.Fatal(err)
			}
		})
		w.watch()
		w.count(Counts{Running: 4})
		w.enqueue()
		w.mu.Lock()
		defer w.mu.Unlock()
		at := time.Now().UTC().Format(time.RFC3339)
		want := []string{`status {"metadata":{"resourceVersion":"2","uid":"u"},"status":{"conditions":[{"lastTransitionTime":"` + at +
			`","message":"at least 3 pods are bound","observedGeneration":2,"reason":"Scheduled","status":"True","type":"Scheduled"},` +
			`{"lastTransitionTime":"` + at + `","message":"at least 3 pods are bound","observedGeneration":2,"reason":"Scheduled",` +
			`"status":"True","type":"Satisfied"}],"running":4,"scheduleStartTime":"` + at + `","scheduled":4,"succeeded":null}}`}
		if diff := cmp.Diff(want, w.patches); diff != "" {
			w.Errorf("want (-) got (+):\n%s", diff)
		}
		if members, _, _ := unstructured.NestedInt64(w.stored().Object, "status", "members"); members != 4 {
			w.Errorf("status.members is %d, want it left alone: 4", members)
		}
	})
}

func TestABurstOfChangesIsOneWriteOfTheLast(t *testing.T) {
	inWorld(t, v1alpha1.GroupX, func(w *world) {
		w.watch()
		for i := range 4 {
			w.count(Counts{Bound: i})
			w.writer.Enqueue(key)
		}
		w.pass(gather)
		w.expect(1, threeBound(), threeBoundTold)
	})
}

func TestWhatIsSaidAlreadyIsNotWritten(t *testing.T) {
	inWorld(t, v1alpha1.GroupX, func(w *world) {
		w.watch()
		w.count(Counts{Pending: 1})
		w.enqueue()
		w.expect(1, onePod())

		w.enqueue()
		w.expect(0, onePod()) // the watch has not shown the write

		w.watch()
		w.enqueue()
		w.expect(0, onePod())
	})
}

func TestAWriteDoesNotWaitForTheWatchToShowTheLast(t *testing.T) {
	inWorld(t, v1alpha1.GroupX, func(w *world) {
		w.watch()
		w.count(Counts{Pending: 1})
		w.enqueue()
		w.expect(1, onePod())

		w.count(Counts{Bound: 3})
		w.enqueue()
		w.expect(1, threeBound(), threeBoundTold)
	})
}

func TestAConflictIsTriedAgainLater(t *testing.T) {
	inWorld(t, v1alpha1.GroupX, func(w *world) {
		w.watch()
		w.count(Counts{Pending: 1})
		w.change(func(object *unstructured.Unstructured) { object.SetAnnotations(map[string]string{"a": "b"}) })
		w.enqueue()
		w.expect(1, v1alpha1.PodGroupStatus{})

		w.watch()
		w.pass(backoff)
		w.expect(1, onePod())
		w.pass(maxBackoff)
		w.expect(0, onePod(), onePodTold)
	})
}

func TestAWriteThatFailedIsTriedAgainUntilItSucceeds(t *testing.T) {
	inWorld(t, v1alpha1.GroupX, func(w *world) {
		w.watch()
		w.count(Counts{Pending: 1})
		w.answer = func() error {
			if len(w.patches) < 4 {
				return apierrors.NewInternalError(errors.New("etcd is away"))
			}
			return nil
		}
		w.enqueue()
		w.pass(maxBackoff)
		w.expect(4, onePod(), onePodTold)
	})
}

func TestAStatusWithoutConditionsIsNotWrittenAgainAndAgain(t *testing.T) {
	inWorld(t, v1alpha1.GroupX, func(w *world) {
		w.prunes = true
		w.watch()
		w.count(Counts{Pending: 1})
		w.enqueue()
		pruned := v1alpha1.PodGroupStatus{Phase: "Pending"}
		w.expect(1, pruned)

		w.watch()
		w.enqueue()
		w.expect(0, pruned)
	})
}

func TestAPodGroupThatIsGoneIsForgotten(t *testing.T) {
	for name, gone := range map[string]func(*world){
		"for the manager": func(w *world) { w.seen = nil },
		"for the API server": func(w *world) {
			w.count(Counts{Bound: 3})
			w.answer = func() error { return apierrors.NewNotFound(w.resource.GroupResource(), "g") }
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, v1alpha1.GroupX, func(w *world) {
				w.watch()
				w.count(Counts{Pending: 1})
				w.enqueue()
				w.expect(1, onePod())

				gone(w)
				w.enqueue()
				w.patches = nil
				w.pass(maxBackoff)
				w.expect(0, onePod())
				if len(w.writer.written) > 0 {
					w.Errorf("remembered: %v", w.writer.written)
				}
			})
		})
	}
}

func TestANamesakeBeginsAnew(t *testing.T) {
	inWorld(t, v1alpha1.GroupX, func(w *world) {
		w.watch()
		w.count(Counts{Bound: 3})
		w.enqueue()
		w.expect(1, threeBound(), threeBoundTold)

		// Created from a backup, of a lower version than what was last written.
		w.change(func(object *unstructured.Unstructured) {
			object.SetUID("another")
			object.SetResourceVersion("0")
			unstructured.RemoveNestedField(object.Object, "status")
		})
		w.watch()
		w.enqueue()
		w.expect(1, threeBound(), threeBoundTold)
	})
}

func TestWhatSomebodyElseWroteIsSetRight(t *testing.T) {
	inWorld(t, v1alpha1.GroupX, func(w *world) {
		w.watch()
		w.count(Counts{Pending: 1})
		w.enqueue()
		w.expect(1, onePod())

		w.change(func(object *unstructured.Unstructured) {
			if err := unstructured.SetNestedField(object.Object, "Running", "status", "phase"); err != nil {
				w.Fatal(err)
			}
		})
		w.watch()
		w.enqueue()
		w.expect(1, onePod()) // the words are the same
	})
}

func TestOtherWordsOfAReasonAreNoEventAndTheLastOnesAreTold(t *testing.T) {
	inWorld(t, v1alpha1.GroupX, func(w *world) {
		w.watch()
		w.count(Counts{Pending: 1})
		w.enqueue()
		w.expect(1, onePod())

		w.count(Counts{Pending: 2})
		w.enqueue()
		w.expect(1, twoPods())
		w.pass(patience)
		w.expect(0, twoPods(), "Normal MembersMissing 2 of 3 pods exist")

		w.pass(quiet)
		w.count(Counts{Pending: 1})
		w.enqueue()
		w.expect(1, onePod())
		w.pass(quiet)
		w.expect(0, onePod())
	})
}
