package watch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"

	"muster.dev/muster/cluster"
)

// watched is a cluster that follows a fake API server until the test ends.
type watched struct {
	*cluster.Cluster
	*Watcher
	log      *logBuffer
	registry *prometheus.Registry
	stop     func() // returns when the watcher has
}

func follow(t *testing.T, o Options) *watched {
	t.Helper()
	w := &watched{log: &logBuffer{}, registry: prometheus.NewPedanticRegistry()}
	o.Logger, o.Registerer = slog.New(slog.NewTextHandler(w.log, nil)), w.registry
	w.Cluster = cluster.New(cluster.Options{Logger: o.Logger, Registerer: w.registry, AssumeTTL: time.Minute})
	var err error
	if w.Watcher, err = New(w.Cluster, o); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.Run(ctx)
	}()
	w.stop = sync.OnceFunc(func() {
		cancel()
		<-done
	})
	t.Cleanup(w.stop)
	return w
}

// troubles returns how often a call for a resource has failed.
func (w *watched) troubles(t *testing.T, resource string) float64 {
	t.Helper()
	families, err := w.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != "muster_cluster_watch_errors_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			if metric.GetLabel()[0].GetValue() == resource {
				return metric.GetCounter().GetValue()
			}
		}
	}
	t.Fatalf("no metric counts what fails for %s", resource)
	return 0
}

// logBuffer is a log that can be read while it is written.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// lines are the lines with a text in them.
func (b *logBuffer) lines(text string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(strings.Split(b.buf.String(), "\n"), func(line string) bool { return !strings.Contains(line, text) })
}

func TestAWatcherFollowsEveryResource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(
			nodeObject("a"),
			podObject("bound", onNode("a")),
			podObject("pending"),
			&storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "a"}},
		)
		for _, s := range sources(Options{Client: client, Jobs: true}) {
			object := s.example.DeepCopyObject()
			object.(apiObject).SetName("x")
			if _, isNode := object.(*corev1.Node); isNode {
				continue
			}
			if err := client.Tracker().Add(object); err != nil {
				t.Fatal(err)
			}
		}
		w := follow(t, Options{Client: client, Jobs: true})
		synctest.Wait()
		if !w.Synced() {
			t.Fatalf("not synced: %v", w.outstanding())
		}
		if err := w.WaitForSync(t.Context()); err != nil {
			t.Fatal(err)
		}

		snap := w.Snapshot()
		a := snap.NodeByName("a")
		if a == nil || len(a.Pods) != 1 || a.CSI == nil {
			t.Fatalf("node a is not as listed: %+v", a)
		}
		if w.PendingPod("pod-pending") == nil {
			t.Error("the pending pod is not known")
		}
		x := types.NamespacedName{Name: "x"}
		for kind, missing := range map[string]bool{
			"PersistentVolume":      lacks(snap.PersistentVolumes, "x"),
			"PersistentVolumeClaim": lacks(snap.PersistentVolumeClaims, x),
			"StorageClass":          lacks(snap.StorageClasses, "x"),
			"VolumeAttachment":      lacks(snap.VolumeAttachments, "x"),
			"CSIDriver":             lacks(snap.CSIDrivers, "x"),
			"Namespace":             lacks(snap.Namespaces, "x"),
			"Service":               lacks(snap.Services, x),
			"ReplicationController": lacks(snap.ReplicationControllers, x),
			"ReplicaSet":            lacks(snap.ReplicaSets, x),
			"StatefulSet":           lacks(snap.StatefulSets, x),
			"PodDisruptionBudget":   lacks(snap.DisruptionBudgets, x),
			"DeviceClass":           lacks(snap.DeviceClasses, "x"),
			"Job":                   lacks(snap.Jobs, x),
		} {
			if missing {
				t.Errorf("the view has no %s", kind)
			}
		}

		bound := podObject("pending", onNode("a"), func(p *corev1.Pod) { p.Spec.Hostname = "not read" })
		must(t)(client.CoreV1().Pods("default").Update(t.Context(), bound, metav1.UpdateOptions{}))
		must(t)(client.CoreV1().Nodes().Create(t.Context(), nodeObject("b"), metav1.CreateOptions{}))
		if err := client.CoreV1().Pods("default").Delete(t.Context(), "bound", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		snap = w.Snapshot()
		if snap.NodeCount() != 2 {
			t.Errorf("%d nodes, want 2", snap.NodeCount())
		}
		pods := snap.NodeByName("a").Pods
		if len(pods) != 1 || pods[0].Name != "pending" || pods[0].Spec.Hostname != "" {
			t.Errorf("the pods on a are %v, want the one that was pending, trimmed", pods)
		}
	})
}

func TestAWatcherSelectsUnfinishedPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		follow(t, Options{Client: client})
		synctest.Wait()
		var selectors []string
		for _, action := range client.Actions() {
			switch a := action.(type) {
			case clienttesting.ListAction:
				if a.GetResource().Resource == "pods" {
					selectors = append(selectors, "list "+a.GetListRestrictions().Fields.String())
				}
			case clienttesting.WatchAction:
				if a.GetResource().Resource == "pods" {
					selectors = append(selectors, "watch "+a.GetWatchRestrictions().Fields.String())
				}
			}
		}
		want := []string{"list status.phase!=Failed,status.phase!=Succeeded", "watch status.phase!=Failed,status.phase!=Succeeded"}
		if diff := cmp.Diff(want, selectors); diff != "" {
			t.Errorf("calls for pods (-want +got):\n%s", diff)
		}
	})
}

func TestEveryWatchedResourceCanBeSetDeletedAndLoaded(t *testing.T) {
	c, wanted := newCluster(t), map[string]int{}
	for _, s := range sources(Options{Client: fake.NewClientset(), Jobs: true}) {
		set(t, c, s.example.DeepCopyObject())
		remove(t, c, s.example.DeepCopyObject())
		wanted[s.resource] = 1
	}
	// A dump with an object of every kind that Kubernetes has.
	var dump bytes.Buffer
	for kind, typ := range scheme.Scheme.AllKnownTypes() {
		object, is := reflect.TypeAssert[apiObject](reflect.New(typ))
		if !is {
			continue // a list, or the options of a call
		}
		object.SetName("x")
		object.GetObjectKind().SetGroupVersionKind(kind)
		if err := json.NewEncoder(&dump).Encode(object); err != nil {
			t.Fatal(err)
		}
	}
	loaded, err := c.Load([]string{"-"}, &dump)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wanted, loaded.Objects); diff != "" {
		t.Errorf("what is loaded from dumps (-watched +loaded):\n%s", diff)
	}
}

func TestAForbiddenResourceKeepsTheWatcherFromBeingSynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(nodeObject("a"))
		var allowed sync.Map
		client.PrependReactor("list", "storageclasses", func(clienttesting.Action) (bool, runtime.Object, error) {
			if _, ok := allowed.Load("yes"); ok {
				return false, nil, nil
			}
			return true, nil, forbidden("storageclasses")
		})
		w := follow(t, Options{Client: client})

		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
		defer cancel()
		err := w.WaitForSync(ctx)
		if err == nil || !strings.Contains(err.Error(), "storageclasses") || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v, want the deadline and storageclasses by name", err)
		}
		if w.Snapshot().NodeCount() != 1 {
			t.Error("the other resources are not followed")
		}
		if lines := w.log.lines("cannot watch a resource"); len(lines) != 1 ||
			!strings.Contains(lines[0], "resource=storageclasses reason=Forbidden") {
			t.Errorf("the refusal is logged as %q, want it once", lines)
		}
		if lines := w.log.lines("still waiting"); len(lines) != 2 || !strings.Contains(lines[0], "resource=storageclasses") {
			t.Errorf("the delay is logged as %q, want it every ten seconds", lines)
		}
		if n := w.troubles(t, "storageclasses"); n < 2 {
			t.Errorf("%v errors counted, want every one", n)
		}
		if n := w.troubles(t, "nodes"); n != 0 {
			t.Errorf("%v errors counted for nodes, want none", n)
		}

		allowed.Store("yes", true)
		if err := w.WaitForSync(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if lines := w.log.lines("watching a resource again"); len(lines) != 1 {
			t.Errorf("the recovery is logged as %q, want it once", lines)
		}
	})
}

func TestANamesakeReplacesAPodWhoseDeletionTheWatchMissed(t *testing.T) {
	c := newCluster(t)
	events := handler(source{
		set:    func(o apiObject) { set(t, c, o) },
		remove: func(o apiObject) { remove(t, c, o) },
	})
	set(t, c, nodeObject("a"))
	versioned := func(uid types.UID, version string) *corev1.Pod {
		return podObject("web-0", onNode("a"), func(p *corev1.Pod) { p.UID, p.ResourceVersion = uid, version })
	}
	pods := func() (uids []types.UID) {
		for _, pod := range c.Snapshot().NodeByName("a").Pods {
			uids = append(uids, pod.UID)
		}
		return uids
	}
	first := versioned("first", "1")
	events.OnAdd(first, true)
	generation := c.Snapshot().Generation
	events.OnUpdate(first, versioned("first", "1"))
	if now := c.Snapshot().Generation; now != generation {
		t.Error("the same version listed again is a change")
	}
	events.OnUpdate(first, versioned("second", "2"))
	if diff := cmp.Diff([]types.UID{"second"}, pods()); diff != "" {
		t.Errorf("pods after the namesake came (-want +got):\n%s", diff)
	}
}

func TestAWatcherStopsWhileTheAPIServerIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		client.PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, syscall.ECONNREFUSED
		})
		w := follow(t, Options{Client: client})
		<-time.After(time.Minute) // into the longest pauses between attempts
		before := time.Now()
		w.stop()
		if took := time.Since(before); took > 0 {
			t.Errorf("the watcher took %v to stop", took)
		}
	})
}

// The reflector repeats a refused stream in a loop that does not look at its context.
func TestARefusedStreamOfTheInitialListIsLeftToTheOrdinaryList(t *testing.T) {
	h := &health{log: slog.New(slog.DiscardHandler), errors: prometheus.NewCounter(prometheus.CounterOpts{Name: "x"})}
	calls := h.observed(listWatch(refusing{}, ""))
	yes := true
	_, err := calls.WatchWithContext(t.Context(), metav1.ListOptions{SendInitialEvents: &yes})
	if err == nil || errors.Is(err, syscall.ECONNREFUSED) || h.state() != "" {
		t.Errorf("a stream: %v, %q; want an error without its type and nothing observed", err, h.state())
	}
	_, err = calls.WatchWithContext(t.Context(), metav1.ListOptions{})
	if !errors.Is(err, syscall.ECONNREFUSED) || h.state() != "Unreachable" {
		t.Errorf("a watch: %v, %q; want the error itself and that the server cannot be reached", err, h.state())
	}
}

func TestHealthIgnoresWhatAReflectorDealsWith(t *testing.T) {
	h := &health{log: slog.New(slog.DiscardHandler), errors: prometheus.NewCounter(prometheus.CounterOpts{Name: "x"})}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	h.observe(stopped, io.ErrUnexpectedEOF)
	h.observe(t.Context(), apierrors.NewResourceExpired("too old"))
	h.observe(t.Context(), &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonGone}})
	if n := testutil.ToFloat64(h.errors); n != 0 || h.state() != "" {
		t.Errorf("%v errors and state %q, want none", n, h.state())
	}
}

func TestNothingRunsAfterAWatcherStopped(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	w := follow(t, Options{Client: fake.NewClientset(nodeObject("a"), podObject("p", onNode("a")))})
	if err := w.WaitForSync(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.stop()
}

func forbidden(resource string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", errors.New("not for muster"))
}

// refusing is an API server that is not there.
type refusing struct{}

func (refusing) List(context.Context, metav1.ListOptions) (*corev1.PodList, error) {
	return nil, syscall.ECONNREFUSED
}

func (refusing) Watch(context.Context, metav1.ListOptions) (apiwatch.Interface, error) {
	return nil, syscall.ECONNREFUSED
}

// must fails the test when a call does, whatever else it returned.
func must(t testing.TB) func(any, error) {
	return func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestAReportThatAPodStillRunsChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		running := func(version string, change ...func(*corev1.Pod)) *corev1.Pod {
			return podObject("p", append(change, onNode("a"), func(p *corev1.Pod) {
				p.ResourceVersion = version
				p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", ContainerID: "c-" + version}} // which is not read
			})...)
		}
		client := fake.NewClientset(nodeObject("a"), running("1"))
		w := follow(t, Options{Client: client})
		synctest.Wait()
		before := w.Snapshot()
		must(t)(client.CoreV1().Pods("default").UpdateStatus(t.Context(), running("2"), metav1.UpdateOptions{}))
		synctest.Wait()
		if after := w.Snapshot(); after != before {
			t.Errorf("there is a new snapshot, of generation %d after %d", after.Generation, before.Generation)
		}
		db := running("3", func(p *corev1.Pod) { p.Labels["app"] = "db" })
		must(t)(client.CoreV1().Pods("default").UpdateStatus(t.Context(), db, metav1.UpdateOptions{}))
		synctest.Wait()
		if pods := w.Snapshot().NodeByName("a").Pods; pods[0].Labels["app"] != "db" || pods[0].ResourceVersion != "3" {
			t.Errorf("the pod is %+v after its labels changed", pods[0].ObjectMeta)
		}
	})
}

// A pod that waits is known by its version: who asks about it is answered by what is known.
func TestAPodThatWaitsIsKnownByItsLastVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waiting := func(version string) *corev1.Pod {
			return podObject("p", func(p *corev1.Pod) { p.ResourceVersion = version })
		}
		client := fake.NewClientset(waiting("1"))
		w := follow(t, Options{Client: client})
		synctest.Wait()
		must(t)(client.CoreV1().Pods("default").Update(t.Context(), waiting("2"), metav1.UpdateOptions{}))
		synctest.Wait()
		if known := w.PendingPod("pod-p"); known.ResourceVersion != "2" {
			t.Errorf("the pod is known in version %s, want 2", known.ResourceVersion)
		}
	})
}

// lacks reports whether a table has no object under a key.
func lacks[K comparable, V any](table cluster.Table[K, V], key K) bool {
	_, is := table.Get(key)
	return !is
}

func newCluster(t *testing.T) *cluster.Cluster {
	t.Helper()
	return cluster.New(
		cluster.Options{Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewPedanticRegistry(), AssumeTTL: time.Minute},
	)
}

func set(t *testing.T, c *cluster.Cluster, object runtime.Object) {
	t.Helper()
	if err := c.Set(object); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, c *cluster.Cluster, object runtime.Object) {
	t.Helper()
	if err := c.Delete(object); err != nil {
		t.Fatal(err)
	}
}

func nodeObject(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func podObject(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("pod-" + name), Labels: map[string]string{"app": "web"}},
	}
	for _, f := range change {
		f(pod)
	}
	return pod
}

func onNode(name string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.NodeName = name }
}
