package watch

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"muster.dev/muster/cluster"
)

var (
	gangs     = schema.GroupVersionResource{Group: "muster.dev", Version: "v1alpha1", Resource: "podgroups"}
	crdsInAPI = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// extensible is a fake API server with CustomResourceDefinitions.
type extensible struct {
	core    *fake.Clientset
	objects *dynamicfake.FakeDynamicClient
	crds    *metadatafake.FakeMetadataClient
}

func newExtensible(t *testing.T, crds []*metav1.PartialObjectMetadata, objects ...runtime.Object) *extensible {
	t.Helper()
	scheme := metadatafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	e := &extensible{
		core: fake.NewClientset(),
		objects: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(
			runtime.NewScheme(),
			map[schema.GroupVersionResource]string{gangs: "PodGroupList"},
			objects...),
		crds: metadatafake.NewSimpleMetadataClient(scheme),
	}
	for _, crd := range crds {
		e.define(t, crd)
	}
	return e
}

func (e *extensible) options() Options {
	return Options{Client: e.core, Optional: []schema.GroupVersionResource{gangs}, Dynamic: e.objects, Metadata: e.crds}
}

func (e *extensible) define(t *testing.T, crd *metav1.PartialObjectMetadata) {
	t.Helper()
	if err := e.crds.Tracker().Create(crdsInAPI, crd, ""); err != nil {
		t.Fatal(err)
	}
}

func (e *extensible) undefine(t *testing.T, name string) {
	t.Helper()
	if err := e.crds.Tracker().Delete(crdsInAPI, "", name); err != nil {
		t.Fatal(err)
	}
}

func crd(name string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
	}
}

func gang(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "muster.dev/v1alpha1",
		"kind":       "PodGroup",
		"metadata":   map[string]any{"namespace": "default", "name": name},
	}}
}

func gangNames(s *cluster.Snapshot) []string {
	names := map[string]bool{}
	for name := range s.Custom(gangs).All() {
		names[name.String()] = true
	}
	return slices.Sorted(maps.Keys(names))
}

func TestACustomResourceThatIsDefinedBelongsToTheInitialList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newExtensible(t, []*metav1.PartialObjectMetadata{crd("podgroups.muster.dev"), crd("widgets.example.com")}, gang("one"))
		heldBack := func() (clienttesting.ReactionFunc, chan struct{}) {
			release := make(chan struct{})
			return func(clienttesting.Action) (bool, runtime.Object, error) {
				<-release
				return false, nil, nil
			}, release
		}
		listCRDs, releaseCRDs := heldBack()
		listGangs, releaseGangs := heldBack()
		e.crds.PrependReactor("list", "*", listCRDs)
		e.objects.PrependReactor("list", "*", listGangs)
		w := follow(t, e.options())
		synctest.Wait()
		if diff := cmp.Diff([]string{"customresourcedefinitions"}, w.outstanding()); diff != "" {
			t.Errorf("outstanding while the definitions are held back (-want +got):\n%s", diff)
		}
		close(releaseCRDs)
		synctest.Wait()
		if diff := cmp.Diff([]string{"podgroups.muster.dev"}, w.outstanding()); diff != "" {
			t.Errorf("outstanding while the objects are held back (-want +got):\n%s", diff)
		}
		close(releaseGangs)
		if err := w.WaitForSync(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"default/one"}, gangNames(w.Snapshot())); diff != "" {
			t.Errorf("objects (-want +got):\n%s", diff)
		}
	})
}

func TestACustomResourceMayComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newExtensible(t, nil)
		w := follow(t, e.options())
		synctest.Wait()
		if !w.Synced() {
			t.Fatalf("not synced without the resource: %v", w.outstanding())
		}
		before := w.Snapshot()

		e.define(t, crd("podgroups.muster.dev"))
		synctest.Wait()
		create := func(name string) {
			must(t)(e.objects.Resource(gangs).Namespace("default").Create(t.Context(), gang(name), metav1.CreateOptions{}))
			synctest.Wait()
		}
		create("one")
		create("two")
		if err := e.objects.Resource(gangs).Namespace("default").Delete(t.Context(), "one", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		present := w.Snapshot()
		if diff := cmp.Diff([]string{"default/two"}, gangNames(present)); diff != "" {
			t.Errorf("objects while the resource is there (-want +got):\n%s", diff)
		}

		e.undefine(t, "podgroups.muster.dev")
		synctest.Wait()
		after := w.Snapshot()
		if names := gangNames(after); len(names) > 0 {
			t.Errorf("%v outlived their definition", names)
		}
		if diff := cmp.Diff([]string{"default/two"}, gangNames(present)); diff != "" {
			t.Errorf("objects in the older snapshot (-want +got):\n%s", diff)
		}
		changes, ok := after.Since(before.Generation)
		if !ok || len(changes) != 4 {
			t.Errorf("the journal has %v, want two additions, a deletion and the end", changes)
		}
		for _, change := range changes {
			if change.Node != -1 || change.Aspects != cluster.AspectCustom {
				t.Errorf("the journal says %v, want an aspect of custom resources", change)
			}
		}

		create("three")
		if names := gangNames(w.Snapshot()); len(names) > 0 {
			t.Errorf("%v is followed though its definition is gone", names)
		}
		e.define(t, crd("podgroups.muster.dev"))
		synctest.Wait()
		if diff := cmp.Diff([]string{"default/three", "default/two"}, gangNames(w.Snapshot())); diff != "" {
			t.Errorf("objects after the resource came back (-want +got):\n%s", diff)
		}
	})
}

func TestWhatIsOptionalMayBeForbidden(t *testing.T) {
	for _, resource := range []string{"definitions", "podgroups"} {
		t.Run(resource, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newExtensible(t, []*metav1.PartialObjectMetadata{crd("podgroups.muster.dev")})
				var allowed sync.Map
				deny := func(clienttesting.Action) (bool, runtime.Object, error) {
					if _, ok := allowed.Load("yes"); ok {
						return false, nil, nil
					}
					return true, nil, forbidden(resource)
				}
				if resource == "definitions" {
					e.crds.PrependReactor("list", "*", deny)
				} else {
					e.objects.PrependReactor("list", "*", deny)
				}
				w := follow(t, e.options())
				synctest.Wait()
				if !w.Synced() {
					t.Fatalf("not synced: %v", w.outstanding())
				}
				if lines := w.log.lines("cannot watch a resource"); len(lines) != 1 {
					t.Errorf("logged %q, want one line", lines)
				}
				allowed.Store("yes", true)
				must(t)(e.objects.Resource(gangs).Namespace("default").Create(t.Context(), gang("late"), metav1.CreateOptions{}))
				for len(w.log.lines("watching a resource again")) == 0 {
					synctest.Wait()
					<-time.After(time.Second)
				}
				synctest.Wait()
				if diff := cmp.Diff([]string{"default/late"}, gangNames(w.Snapshot())); diff != "" {
					t.Errorf("objects after it was allowed (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestADefinitionOfTheSameNameStartsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newExtensible(t, []*metav1.PartialObjectMetadata{crd("podgroups.muster.dev")}, gang("one"))
		w := follow(t, e.options())
		synctest.Wait()
		again := crd("podgroups.muster.dev")
		again.UID = types.UID("another")
		if err := e.crds.Tracker().Update(crdsInAPI, again, ""); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := len(w.log.lines("custom resource found")); n != 2 {
			t.Errorf("the resource was found %d times, want twice", n)
		}
		if diff := cmp.Diff([]string{"default/one"}, gangNames(w.Snapshot())); diff != "" {
			t.Errorf("objects (-want +got):\n%s", diff)
		}
	})
}

func TestOptionalResourcesNeedTheirClients(t *testing.T) {
	_, err := New(newCluster(t), Options{
		Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewPedanticRegistry(),
		Client: fake.NewClientset(), Optional: []schema.GroupVersionResource{gangs},
	})
	if err == nil {
		t.Error("no error")
	}
}

// Nothing defines it: it is followed from the start, and served later.
func TestABuiltInResourceMayBeServedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newExtensible(t, nil, gang("one"))
		var served atomic.Bool
		e.objects.PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
			return !served.Load(), nil, apierrors.NewNotFound(gangs.GroupResource(), "")
		})
		told := make(chan string, 10)
		handler := newCluster(t).KeepCustom(gangs)
		handler.BuiltIn = true
		handler.Watched = func(err error) { told <- fmt.Sprint("watched: ", apierrors.ReasonForError(err)) }
		handler.Set = func(object metav1.Object) { told <- "set " + object.GetName() }
		o := e.options()
		o.Optional, o.Handled = nil, map[schema.GroupVersionResource]cluster.CustomHandler{gangs: handler}
		w := follow(t, o)
		synctest.Wait()
		if !w.Synced() || len(told) != 1 || <-told != "watched: NotFound" {
			t.Fatalf("before it is served: outstanding %v, told more, or something else", w.outstanding())
		}
		if lines := w.log.lines("cannot watch a resource"); len(lines) != 0 {
			t.Errorf("that a cluster lacks it is logged as trouble: %q", lines)
		}
		if n := w.troubles(t, gangs.GroupResource().String()); n != 0 {
			t.Errorf("that a cluster lacks it is counted as %v errors", n)
		}
		served.Store(true)
		got := []string{<-told, <-told}
		slices.Sort(got)
		if diff := cmp.Diff([]string{"set one", "watched: "}, got); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
		e.define(t, crd("podgroups.muster.dev"))
		synctest.Wait()
		e.undefine(t, "podgroups.muster.dev")
		synctest.Wait()
		must(t)(e.objects.Resource(gangs).Namespace("default").Create(t.Context(), gang("two"), metav1.CreateOptions{}))
		if got := <-told; got != "set two" {
			t.Errorf("told %s after a definition of its name came and went, want that it is followed still", got)
		}
	})
}

func TestTheObjectsOfAHandledResourceAreNotKeptHere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newExtensible(t, nil)
		type name struct{ metav1.PartialObjectMetadata }
		told := make(chan string, 10)
		about := func(verb string) func(metav1.Object) {
			return func(object metav1.Object) { told <- verb + " " + object.(*name).Name }
		}
		o := e.options()
		o.Optional = nil
		o.Handled = map[schema.GroupVersionResource]cluster.CustomHandler{gangs: {
			Trim: func(object any) (any, error) {
				if whole, ok := object.(*unstructured.Unstructured); ok {
					kept := &name{}
					kept.Name, kept.Namespace, kept.ResourceVersion = whole.GetName(), whole.GetNamespace(), whole.GetResourceVersion()
					return kept, nil
				}
				return object, nil
			},
			Watched: func(err error) { told <- fmt.Sprint("watched: ", err) },
			Set:     about("set"),
			Delete:  about("delete"),
			Drop:    func() { told <- "drop" },
		}}
		var denied atomic.Bool
		denied.Store(true)
		e.objects.PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
			return denied.Load(), nil, apierrors.NewForbidden(gangs.GroupResource(), "", errors.New("not you"))
		})
		w := follow(t, o)
		expect := func(want ...string) {
			t.Helper()
			synctest.Wait()
			var got []string
			for len(told) > 0 {
				got = append(got, <-told)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
		}
		expect()
		e.define(t, crd("podgroups.muster.dev"))
		expect(`watched: podgroups.muster.dev is forbidden: not you`)
		denied.Store(false)
		<-time.After(time.Minute) // longer than the informer takes to try again
		expect("watched: <nil>")
		in := e.objects.Resource(gangs).Namespace("default")
		must(t)(in.Create(t.Context(), gang("one"), metav1.CreateOptions{}))
		expect("set one")
		if err := in.Delete(t.Context(), "one", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		expect("delete one")
		e.undefine(t, "podgroups.muster.dev")
		expect("drop")
		if names := gangNames(w.Snapshot()); len(names) > 0 || w.Snapshot().Generation != 0 {
			t.Errorf("the view has %v and generation %d, want nothing", names, w.Snapshot().Generation)
		}
	})
}
