package nodemetric

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/slo/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/loadaware/source"
)

// world is an API server with NodeMetrics and a ConfigMap, and what is run against it.
type world struct {
	*testing.T
	cluster  *cluster.Cluster
	core     *fake.Clientset
	dynamic  *dynamicfake.FakeDynamicClient
	store    *Store
	metrics  *Metrics
	recorder *events.FakeRecorder
	log      *slog.Logger
	logged   bytes.Buffer
	registry *prometheus.Registry // of refusals
}

func inWorld(t *testing.T, test func(*world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, core: fake.NewClientset(), recorder: events.NewFakeRecorder(10), metrics: NewMetrics(prometheus.NewRegistry())}
		w.log = slog.New(slog.NewTextHandler(&w.logged, nil))
		w.dynamic = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
			map[schema.GroupVersionResource]string{v1alpha1.NodeMetrics(): "NodeMetricList"})
		w.cluster = cluster.New(cluster.Options{Logger: w.log, Registerer: prometheus.NewRegistry(), AssumeTTL: time.Minute})
		w.store = NewStore()
		test(w)
	})
}

func (w *world) refusals() *source.Refusals {
	w.registry = prometheus.NewRegistry()
	return source.NewRefusals(w.log, w.registry, "NodeMetric")
}

// run runs something until the returned function is called.
func (w *world) run(what interface{ Run(context.Context) }) (stop func()) {
	ctx, cancel := context.WithCancel(w.Context())
	ended := make(chan struct{})
	go func() {
		what.Run(ctx)
		close(ended)
	}()
	synctest.Wait()
	return func() {
		cancel()
		<-ended
	}
}

func (w *world) controller() *Controller {
	return NewController(ControllerOptions{
		Logger: w.log, Clock: clock.RealClock{}, Metrics: w.metrics, Cluster: w.cluster, Store: w.store,
		Core: w.core, Dynamic: w.dynamic, Events: w.recorder, Namespace: "koordinator-system",
	})
}

// pass lets time pass, and has the watch show the NodeMetrics.
func (w *world) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
	w.watch()
	synctest.Wait()
}

// watch has the store see the NodeMetrics as they are.
func (w *world) watch() {
	w.Helper()
	handler := w.store.Handler(func(error) {})
	list, err := w.dynamic.Resource(v1alpha1.NodeMetrics()).List(w.Context(), metav1.ListOptions{})
	w.must(err)
	var names []string
	for i := range list.Items {
		observed, err := handler.Trim(list.Items[i].DeepCopy())
		w.must(err)
		names = append(names, list.Items[i].GetName())
		handler.Set(observed.(*Observed))
	}
	for _, name := range w.store.Names() {
		if !slices.Contains(names, name) {
			handler.Delete(&metav1.ObjectMeta{Name: name})
		}
	}
}

func (w *world) setNode(name string, labels map[string]string) {
	w.Helper()
	w.must(w.cluster.Set(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}))
}

// write writes a NodeMetric as somebody else would.
func (w *world) write(object map[string]any) {
	w.Helper()
	metric := &unstructured.Unstructured{Object: object}
	metric.SetAPIVersion("slo.koordinator.sh/v1alpha1")
	metric.SetKind("NodeMetric")
	w.must(w.dynamic.Tracker().Create(v1alpha1.NodeMetrics(), metric, ""))
}

func (w *world) stored(name string) map[string]any {
	w.Helper()
	object, err := w.dynamic.Tracker().Get(v1alpha1.NodeMetrics(), "", name)
	w.must(err)
	return object.(*unstructured.Unstructured).Object
}

// configure writes the ConfigMap.
func (w *world) configure(text string) {
	w.Helper()
	config := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "koordinator-system", Name: ConfigMapName},
		Data:       map[string]string{ConfigMapKey: text},
	}
	maps := w.core.CoreV1().ConfigMaps("koordinator-system")
	_, err := maps.Update(w.Context(), config, metav1.UpdateOptions{})
	if err != nil {
		_, err = maps.Create(w.Context(), config, metav1.CreateOptions{})
	}
	w.must(err)
}

// calls are the writes since it was last called, sorted.
func (w *world) calls() []string {
	var calls []string
	for _, action := range w.dynamic.Actions() {
		switch a := action.(type) {
		case clienttesting.PatchAction:
			calls = append(calls, strings.TrimSuffix("patch "+a.GetName()+" "+a.GetSubresource(), " "))
		case clienttesting.CreateAction:
			calls = append(calls, "create "+a.GetObject().(metav1.Object).GetName())
		case clienttesting.DeleteAction:
			calls = append(calls, "delete "+a.GetName())
		}
	}
	w.dynamic.ClearActions()
	slices.Sort(calls)
	return calls
}

// expect compares the writes since it was last called. One that is repeated before the watch shows
// it counts once.
func (w *world) expect(calls ...string) {
	w.Helper()
	if diff := cmp.Diff(calls, slices.Compact(w.calls())); diff != "" {
		w.Errorf("writes, want (-) got (+):\n%s", diff)
	}
}

func (w *world) told() (events []string) {
	for len(w.recorder.Events) > 0 {
		events = append(events, <-w.recorder.Events)
	}
	return events
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// followed holds the last report to a follower about each node.
type followed map[string]*cluster.Usage

func (f followed) Report(node string, usage *cluster.Usage) { f[node] = usage }

func pod(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "default", Name: name}
}
