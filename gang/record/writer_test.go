package record

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

var groups = schema.GroupResource{Group: v1alpha1.GroupX, Resource: v1alpha1.Resource}

func podGroup(version string, minMember int64, change ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
	group := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupX + "/" + v1alpha1.Version, "kind": v1alpha1.Kind,
		"metadata": map[string]any{"namespace": "default", "name": "g", "uid": "u", "resourceVersion": version},
		"spec":     map[string]any{"minMember": minMember},
	}}
	for _, f := range change {
		f(group)
	}
	return group
}

func with(r Record) func(*unstructured.Unstructured) {
	return func(group *unstructured.Unstructured) {
		if r.PodGroup == "" {
			r.PodGroup = group.GetUID()
		}
		text, err := json.Marshal(r)
		if err != nil {
			panic(err)
		}
		group.SetAnnotations(map[string]string{Annotation: string(text)})
	}
}

// server is an API server with one PodGroup, nil when it is gone.
type server struct {
	has     *unstructured.Unstructured
	trouble []error // of the next patches
	patches []string
}

func (s *server) client() *dynamicfake.FakeDynamicClient {
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{v1alpha1.ResourceOf(v1alpha1.GroupX): "PodGroupList"})
	client.PrependReactor("get", v1alpha1.Resource, func(clienttesting.Action) (bool, runtime.Object, error) {
		if s.has == nil {
			return true, nil, apierrors.NewNotFound(groups, "g")
		}
		return true, s.has.DeepCopy(), nil
	})
	client.PrependReactor("patch", v1alpha1.Resource, func(action clienttesting.Action) (bool, runtime.Object, error) {
		if len(s.trouble) > 0 {
			err := s.trouble[0]
			s.trouble = s.trouble[1:]
			return true, nil, err
		}
		if s.has == nil {
			return true, nil, apierrors.NewNotFound(groups, "g")
		}
		var patch metav1.PartialObjectMetadata
		if err := json.Unmarshal(action.(clienttesting.PatchAction).GetPatch(), &patch); err != nil {
			return true, nil, err
		}
		if patch.ResourceVersion != s.has.GetResourceVersion() || patch.UID != s.has.GetUID() {
			return true, nil, apierrors.NewConflict(groups, "g", errors.New("it is another one"))
		}
		s.patches = append(s.patches, patch.Annotations[Annotation])
		return true, s.has, nil
	})
	return client
}

var lease = time.Date(2026, 11, 21, 18, 0, 0, 0, time.UTC)

func epoch(transitions int32) Record {
	return Record{Epoch: Epoch{Lease: lease, Transitions: transitions}}
}

func TestARecordIsWrittenToTheVersionThatAllowsIt(t *testing.T) {
	const written = `{"members":4,"minMember":3,"time":"2026-11-21T18:01:02Z","epoch":{"lease":"2026-11-21T18:00:00Z","transitions":2}}`
	unreachable := errors.New("connection refused")
	anotherUID := func(group *unstructured.Unstructured) { group.SetUID(types.UID("v")) }
	later := Record{Epoch: Epoch{Lease: lease.Add(time.Hour)}}
	tests := []struct {
		name  string
		seen  *unstructured.Unstructured
		has   *unstructured.Unstructured
		fails []error
		want  error
	}{
		{name: "the version seen is the latest", seen: podGroup("1", 3), has: podGroup("1", 3)},
		{name: "its status was written meanwhile", seen: podGroup("1", 3), has: podGroup("2", 3)},
		{name: "minMember was raised, and there are as many", seen: podGroup("1", 3), has: podGroup("2", 4)},
		{name: "minMember was raised beyond the members", seen: podGroup("1", 3), has: podGroup("2", 5), want: ErrChanged},
		{name: "more were asked for all the time, of a gang that was let go before", seen: podGroup("1", 9), has: podGroup("2", 9)},
		{name: "it is a namesake", seen: podGroup("1", 3), has: podGroup("2", 3, anotherUID), want: ErrChanged},
		{name: "it is gone", seen: podGroup("1", 3), want: ErrChanged},
		{name: "it does not make sense any more", seen: podGroup("1", 3), has: podGroup("2", 0), want: ErrChanged},
		{name: "an earlier leader has recorded a commit", seen: podGroup("1", 3, with(epoch(1))), has: podGroup("1", 3, with(epoch(1)))},
		{name: "this leader has", seen: podGroup("1", 3, with(epoch(2))), has: podGroup("1", 3, with(epoch(2)))},
		{
			name: "a later leader has, as the watch showed",
			seen: podGroup("1", 3, with(epoch(3))),
			has:  podGroup("1", 3, with(epoch(3))),
			want: ErrFenced,
		},
		{name: "a later leader has, and the watch is behind", seen: podGroup("1", 3), has: podGroup("2", 3, with(epoch(3))), want: ErrFenced},
		{name: "the leader of a later Lease has", seen: podGroup("1", 3), has: podGroup("2", 3, with(later)), want: ErrFenced},
		{name: "a process without leader election has", seen: podGroup("1", 3, with(Record{})), has: podGroup("1", 3, with(Record{}))},
		{
			name: "the API server is away for a while", seen: podGroup("1", 3), has: podGroup("1", 3),
			fails: []error{unreachable, apierrors.NewInternalError(unreachable), apierrors.NewServiceUnavailable("")},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{has: test.has, trouble: test.fails}
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				err := NewWriter(s.client(), clock.RealClock{}).Write(ctx, test.seen, Record{
					Members: 4, MinMember: 3, Time: lease.Add(62 * time.Second), Epoch: epoch(2).Epoch,
				})
				var want []string
				if test.want == nil {
					want = []string{written}
				}
				if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
					t.Errorf("error %v, want %v", err, test.want)
				}
				if diff := cmp.Diff(want, s.patches); diff != "" {
					t.Errorf("records (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestAWriterGivesUpWhenTheContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := errors.New("connection refused")
		var trouble []error
		for range 100 {
			trouble = append(trouble, away)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		started := time.Now()
		err := NewWriter(
			(&server{has: podGroup("1", 3), trouble: trouble}).client(), clock.RealClock{},
		).Write(ctx, podGroup("1", 3), Record{Members: 3, MinMember: 3})
		if !errors.Is(err, away) || time.Since(started) != 10*time.Second {
			t.Errorf("after %s: %v", time.Since(started), err)
		}
	})
}

func TestTheNextTryIsTimedByTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake, s := clocktesting.NewFakeClock(lease), &server{has: podGroup("1", 3), trouble: []error{errors.New("connection refused")}}
		ended := false
		go func() {
			if err := NewWriter(s.client(), fake).Write(t.Context(), podGroup("1", 3), Record{Members: 3, MinMember: 3}); err != nil {
				t.Error(err)
			}
			ended = true
		}()
		synctest.Wait()
		if ended {
			t.Error("it is written before the clock moves")
		}
		fake.Step(retry)
		synctest.Wait()
		if !ended {
			t.Error("it is not written when it is time")
		}
	})
}

func TestARecordIsReadBack(t *testing.T) {
	want := Record{Members: 4, MinMember: 3, Time: lease.Add(time.Minute), PodGroup: "u", Epoch: epoch(2).Epoch}
	if got := Of(podGroup("1", 3, with(want))); got == nil || cmp.Diff(want, *got) != "" {
		t.Errorf("%+v, want %+v", got, want)
	}
	for name, change := range map[string]func(*unstructured.Unstructured){
		"none":             func(*unstructured.Unstructured) {},
		"of another group": with(Record{Members: 4, PodGroup: "another"}),
		"of no group": func(group *unstructured.Unstructured) {
			group.SetAnnotations(map[string]string{Annotation: `{"members": 4, "minMember": 3}`})
		},
		"nonsense": func(group *unstructured.Unstructured) { group.SetAnnotations(map[string]string{Annotation: "yes"}) },
	} {
		if got := Of(podGroup("1", 3, change)); got != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
