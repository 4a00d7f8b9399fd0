package predicates

import (
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"pgregory.net/rapid"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/seeded"
	"muster.dev/muster/cluster"
)

type storeBench struct {
	cluster *cluster.Cluster
	store   *VerdictStore
	metrics *StoreMetrics
}

func newStoreBench(t interface{ Fatal(...any) }, maxBytes int64) *storeBench {
	cfg := config.Default()
	profile, err := NewProfile(&cfg.Profiles[0])
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	c := cluster.New(cluster.Options{Logger: slog.New(slog.DiscardHandler), Registerer: registry, AssumeTTL: time.Hour})
	metrics := NewStoreMetrics(registry)
	return &storeBench{cluster: c, store: NewVerdictStore(profile, c, maxBytes, metrics, clock.RealClock{}), metrics: metrics}
}

func storeNode(name string, cpu int64) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"zone": "a"}},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			corev1.ResourceCPU: *resource.NewQuantity(cpu, resource.DecimalSI), corev1.ResourceMemory: resource.MustParse("8Gi"),
			corev1.ResourcePods: *resource.NewQuantity(10, resource.DecimalSI),
		}},
	}
}

// storePod is a pod of one of several controllers with needs of their own.
func storePod(controller, number int) *corev1.Pod {
	yes := true
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("pod-%d-%d", controller, number), Namespace: "default", UID: types.UID(fmt.Sprintf("uid-%d-%d", controller, number)),
			OwnerReferences: []metav1.OwnerReference{{UID: types.UID(fmt.Sprint(controller)), Controller: &yes}},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: *resource.NewQuantity(int64(1+controller%3), resource.DecimalSI),
		}}}}},
	}
	switch controller % 4 {
	case 1:
		selecting("zone", "a")(pod)
		preferring(preferredTerm(1, named(corev1.NodeSelectorOpIn, "node-1")))(pod)
	case 2:
		pod.Spec.Containers[0].Image = "web:v1"
		pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	case 3:
		taking("", "", 80)(pod)
		preferring(preferredTerm(1, label("zone", corev1.NodeSelectorOpIn, "b")))(pod)
	}
	return pod
}

// TestARememberedVerdictIsNeverStale changes the cluster at random and compares,
// after every step, what the store remembers with what a fresh evaluation says.
func TestARememberedVerdictIsNeverStale(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		b := newStoreBench(t, 1<<30)
		index := rapid.IntRange(0, 4)
		set := func(object runtime.Object) {
			if err := b.cluster.Set(object); err != nil {
				t.Fatal(err)
			}
		}
		nodeNow := func(name string) *corev1.Node {
			if node := b.cluster.Snapshot().NodeByName(name); node != nil {
				return node.DeepCopy()
			}
			return storeNode(name, 4)
		}
		name := func(t *rapid.T) string { return fmt.Sprintf("node-%d", index.Draw(t, "node")) }
		checked := 0
		t.Repeat(map[string]func(*rapid.T){
			"set a node's CPU": func(t *rapid.T) { set(storeNode(name(t), rapid.Int64Range(0, 8).Draw(t, "cpu"))) },
			"label a node": func(t *rapid.T) {
				node := nodeNow(name(t))
				node.Labels = map[string]string{"zone": rapid.SampledFrom([]string{"a", "b"}).Draw(t, "zone")}
				set(node)
			},
			"unlabel a node": func(t *rapid.T) {
				node := nodeNow(name(t))
				node.Labels = nil
				set(node)
			},
			"taint a node": func(t *rapid.T) {
				node := nodeNow(name(t))
				effect := rapid.SampledFrom([]corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule}).Draw(t, "effect")
				node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: "k", Effect: effect})
				set(node)
			},
			"cordon or uncordon a node": func(t *rapid.T) {
				node := nodeNow(name(t))
				node.Spec.Unschedulable = !node.Spec.Unschedulable
				set(node)
			},
			"pull an image to a node or drop it": func(t *rapid.T) {
				node := nodeNow(name(t))
				if node.Status.Images = nil; rapid.Bool().Draw(t, "pull") {
					holding(rapid.SampledFrom([]int64{100, 700}).Draw(t, "size"), "web:v1", "web@sha256:0")(node)
				}
				set(node)
			},
			"delete a node": func(t *rapid.T) {
				if err := b.cluster.Delete(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name(t)}}); err != nil {
					t.Fatal(err)
				}
			},
			"place a pod": func(t *rapid.T) {
				pod := storePod(index.Draw(t, "controller"), rapid.IntRange(0, 3).Draw(t, "number"))
				pod.Spec.NodeName = name(t)
				set(pod)
			},
			"resize a pod": func(t *rapid.T) {
				pod := storePod(index.Draw(t, "controller"), rapid.IntRange(0, 3).Draw(t, "number"))
				pod.Spec.NodeName = name(t)
				pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("3")
				set(pod)
			},
			"delete a pod": func(t *rapid.T) {
				if err := b.cluster.Delete(storePod(index.Draw(t, "controller"), rapid.IntRange(0, 3).Draw(t, "number"))); err != nil {
					t.Fatal(err)
				}
			},
			"assume a pod": func(t *rapid.T) {
				snap := b.cluster.Snapshot()
				if node := snap.NodeByName(name(t)); node != nil {
					_ = b.cluster.AssumeAll([]*cluster.Pod{cluster.NewPod(storePod(index.Draw(t, "controller"), 9))}, node) // it may be placed
				}
			},
			"release a pod": func(t *rapid.T) {
				b.cluster.Release(storePod(index.Draw(t, "controller"), 9).UID)
			},
			"": func(t *rapid.T) {
				// Not every class is asked every time, so that some lag behind.
				for controller := range 5 {
					if !rapid.Bool().Draw(t, "ask") {
						continue
					}
					checked += compareWithFresh(t, b, storePod(controller, 100))
				}
			},
		})
	})
}

// askAll asks what is said of a pod on every node.
func (b *storeBench) askAll(object *corev1.Pod) {
	view := b.store.View(cluster.NewPod(object))
	defer view.Close()
	for node := range view.Snapshot.Nodes() {
		view.Verdict(node.Index)
	}
}

// thorough judges a pod after telling all digests of all nodes, even the digests that may begin with few.
func thorough(p *Profile, pod *cluster.Pod, snap *cluster.Snapshot) *Judgement {
	j := p.Judge(pod, snap)
	for _, check := range j.checks {
		if digest, ok := check.(Digest); ok {
			digest.Update(snap, indexes(snap))
		}
	}
	for _, rating := range j.ratings {
		if rating.Among != nil {
			rating.Among.Update(snap, indexes(snap))
		}
	}
	return j
}

// compareWithFresh returns how many nodes it compared: not always all, nor all that it ranks, so that some stay unjudged.
func compareWithFresh(t *rapid.T, b *storeBench, object *corev1.Pod) int {
	pod := cluster.NewPod(object)
	if rapid.IntRange(0, 9).Draw(t, "refresh") == 0 {
		b.store.Refresh(pod)
	}
	view := b.store.View(pod)
	defer view.Close()
	fresh := thorough(b.store.Profile, pod, view.Snapshot)
	asked, ranked := rapid.Uint64().Draw(t, "asked"), rapid.Uint64().Draw(t, "ranked")
	compared := 0
	var nodes []int32
	for node := range view.Snapshot.Nodes() {
		if bit := uint64(1) << (node.Index % 64); asked&bit != 0 {
			compared++
			if got, want := view.Verdict(node.Index), fresh.Verdict(node); got != want {
				t.Fatalf("%s on %s: remembered %q, fresh %q", object.Name, node.Name, view.Reason(got), view.Reason(want))
			}
		}
		if bit := uint64(1) << (node.Index % 64); ranked&bit != 0 {
			nodes = append(nodes, node.Index)
		}
	}
	got, want := make([]int64, len(nodes)), make([]int64, len(nodes))
	view.Rank(nodes, got)
	fresh.Rank(nodes, want)
	if !slices.Equal(got, want) {
		t.Fatalf("%s: remembered totals %d, fresh %d", object.Name, got, want)
	}
	return compared
}

// TestOnlyNodesThatAreAskedAboutAreJudged has pods of one class ask about some of ten nodes.
func TestOnlyNodesThatAreAskedAboutAreJudged(t *testing.T) {
	b := newStoreBench(t, 1<<30)
	set := func(object runtime.Object) {
		t.Helper()
		if err := b.cluster.Set(object); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 10 {
		set(storeNode(fmt.Sprintf("node-%d", i), 8))
	}
	ask := func(ranked bool, indexes ...int32) func() {
		return func() {
			view := b.store.View(cluster.NewPod(storePod(0, 0)))
			defer view.Close()
			if ranked {
				view.Rank(indexes, make([]int64, len(indexes)))
				return
			}
			for _, index := range indexes {
				if got := view.Verdict(index); got != Fits {
					t.Errorf("node %d: %q", index, view.Reason(got))
				}
			}
		}
	}
	for _, step := range []struct {
		name string
		do   func()
		want float64 // verdicts of NodeResourcesFit
		// judged is on how many nodes the class is judged then.
		judged int
	}{
		{"nodes are asked about", ask(false, 0, 1), 2, 2},
		{"one more is", ask(false, 0, 1, 2), 1, 3},
		{"one more is ranked", ask(true, 0, 3), 1, 4},
		{"what a judged one has changes", func() { set(storeNode("node-1", 7)); ask(false, 0)() }, 1, 4},
		{"what an unjudged one has changes", func() { set(storeNode("node-9", 7)); ask(false, 0)() }, 0, 4},
		{"a node comes", func() { set(storeNode("node-10", 7)); ask(false, 0)() }, 0, 4},
		{"all are wanted", func() { b.store.Refresh(cluster.NewPod(storePod(0, 0))) }, 7, 11},
		{"all are known", func() { b.store.Try(cluster.NewPod(storePod(0, 0))).Close() }, 0, 11},
		{"another one comes before a trial", func() { set(storeNode("node-11", 7)); b.store.Try(cluster.NewPod(storePod(0, 0))).Close() }, 1, 12},
		{"one takes the index of another before a trial", func() {
			if err := b.cluster.Delete(storeNode("node-3", 8)); err != nil {
				t.Fatal(err)
			}
			set(storeNode("node-12", 7))
			b.store.Try(cluster.NewPod(storePod(0, 0))).Close()
		}, 1, 12},
		{"a trial advances", func() {
			set(storeNode("node-13", 7))
			pod := cluster.NewPod(storePod(0, 0))
			trial := b.store.Try(pod)
			trial.Advance(pod, b.cluster.Snapshot())
			trial.Close()
		}, 1, 13},
	} {
		step.do()
		evaluated := 0.0
		for _, cause := range []string{"node", "requested", "allocatable"} {
			evaluated += testutil.ToFloat64(b.metrics.evaluated.WithLabelValues(corev1.DefaultSchedulerName, config.NodeResourcesFit, cause))
		}
		b.metrics.evaluated.Reset()
		if class := b.store.Classes()[0]; evaluated != step.want || class.Judged != step.judged || class.Fitting != step.judged {
			t.Errorf("%s: %v verdicts, judged on %d nodes, %d fit; want %v and %d", step.name, evaluated, class.Judged, class.Fitting,
				step.want, step.judged)
		}
	}
}

func TestOnlyWhatChangedIsEvaluatedAnew(t *testing.T) {
	b := newStoreBench(t, 1<<30)
	for i := range 10 {
		if err := b.cluster.Set(storeNode(fmt.Sprintf("node-%d", i), 8)); err != nil {
			t.Fatal(err)
		}
	}
	object := storePod(1, 0) // has a node selector
	ask := func() { b.askAll(object) }
	evaluated := func() map[string]float64 {
		counts := map[string]float64{}
		for _, predicate := range []string{
			config.NodeUnschedulable, config.TaintToleration, config.NodeAffinity, config.NodePorts, config.NodeResourcesFit,
		} {
			for _, cause := range []string{"node", "labels", "taints", "requested", "allocatable", "unschedulable", "ports"} {
				if n := testutil.ToFloat64(b.metrics.evaluated.WithLabelValues(corev1.DefaultSchedulerName, predicate, cause)); n != 0 {
					counts[predicate+" by "+cause] = n
				}
			}
		}
		b.metrics.evaluated.Reset()
		return counts
	}
	change := func(f func(*corev1.Node)) func() {
		return func() {
			node := b.cluster.Snapshot().NodeByName("node-3").DeepCopy()
			f(node)
			if err := b.cluster.Set(node); err != nil {
				t.Fatal(err)
			}
		}
	}
	place := func() {
		other := storePod(3, 0)
		other.Spec.NodeName = "node-5"
		if err := b.cluster.Set(other); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		name   string
		change func()
		want   map[string]float64
	}{
		{"a class is new", func() {}, map[string]float64{
			"NodeUnschedulable by node": 10, "TaintToleration by node": 10, "NodeAffinity by node": 10, "NodeResourcesFit by node": 10,
		}},
		{"nothing changed", func() {}, map[string]float64{}},
		{
			"a node's labels changed", change(func(n *corev1.Node) { n.Labels = map[string]string{"zone": "b"} }),
			map[string]float64{"NodeAffinity by labels": 1},
		},
		{"a node was tainted", change(func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
		}), map[string]float64{"TaintToleration by taints": 1}},
		{
			"a node was cordoned", change(func(n *corev1.Node) { n.Spec.Unschedulable = true }),
			map[string]float64{"NodeUnschedulable by unschedulable": 1},
		},
		{
			"a node grew", change(func(n *corev1.Node) { n.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("9") }),
			map[string]float64{"NodeResourcesFit by allocatable": 1},
		},
		{"a condition changed, which nothing reads", change(func(n *corev1.Node) {
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}}
		}), map[string]float64{}},
		{"a pod with a host port was placed", place, map[string]float64{"NodeResourcesFit by requested": 1}},
		{"a node was added", func() {
			if err := b.cluster.Set(storeNode("new", 1)); err != nil {
				t.Fatal(err)
			}
		}, map[string]float64{
			"NodeUnschedulable by node": 1, "TaintToleration by node": 1, "NodeAffinity by node": 1, "NodeResourcesFit by node": 1,
		}},
	} {
		step.change()
		ask()
		if diff := cmp.Diff(step.want, evaluated()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
}

func TestANodeThatWentIsUnknown(t *testing.T) {
	b := newStoreBench(t, 1<<30)
	for _, name := range []string{"stays", "goes"} {
		if err := b.cluster.Set(storeNode(name, 8)); err != nil {
			t.Fatal(err)
		}
	}
	index := b.cluster.Snapshot().NodeByName("goes").Index
	for _, want := range []Verdict{Fits, UnknownNode} {
		view := b.store.View(cluster.NewPod(storePod(0, 0)))
		if got := view.Verdict(index); got != want {
			t.Errorf("verdict %d, want %d", got, want)
		}
		view.Close()
		if err := b.cluster.Delete(storeNode("goes", 8)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheLeastRecentlyUsedClassesAreForgotten(t *testing.T) {
	probe := newStoreBench(t, 1<<30)
	view := probe.store.View(cluster.NewPod(storePod(0, 0)))
	view.Close()
	one := probe.store.bytes

	b := newStoreBench(t, 3*one+one/2)
	ask := func(controller int) {
		view := b.store.View(cluster.NewPod(storePod(controller*4, 0))) // all of the same needs
		view.Close()
	}
	for _, controller := range []int{0, 1, 2, 0, 3} {
		ask(controller)
	}
	result := func(result string) float64 {
		return testutil.ToFloat64(b.metrics.lookups.WithLabelValues(corev1.DefaultSchedulerName, result))
	}
	if result(lookupMiss) != 4 || result(lookupHit) != 1 {
		t.Fatalf("%v misses and %v hits, want 4 and 1", result(lookupMiss), result(lookupHit))
	}
	ask(0)
	if result(lookupHit) != 2 {
		t.Error("a class that was used lately was forgotten")
	}
	ask(1)
	if result(lookupMiss) != 5 {
		t.Error("the class used least recently was not forgotten")
	}
	if b.store.bytes > b.store.maxBytes || len(b.store.entries) != 3 {
		t.Errorf("%d bytes of %d, %d entries", b.store.bytes, b.store.maxBytes, len(b.store.entries))
	}
}

func TestConcurrentViewsAndChanges(t *testing.T) {
	b := newStoreBench(t, 20_000)
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := range 200 {
				if worker == 0 {
					_ = b.cluster.Set(storeNode(fmt.Sprintf("node-%d", i%20), int64(i%7)))
					continue
				}
				pod := cluster.NewPod(storePod(i%11, 0))
				view := b.store.View(pod)
				fit := b.store.Profile.Judge(pod, view.Snapshot)
				for node := range view.Snapshot.Nodes() {
					if view.Verdict(node.Index) != fit.Verdict(node) {
						t.Errorf("a stale verdict on %s", node.Name)
					}
				}
				view.Close()
			}
		})
	}
	wg.Wait()
}

// moody fits every node, once it has stopped to panic.
type moody struct{ inFor, inCheck *int }

func (moody) Name() string { return "Moody" }

func (moody) Aspects() cluster.Aspect { return cluster.AspectLabels }

func (m moody) For(*cluster.Pod, *cluster.Snapshot) Check {
	if *m.inFor--; *m.inFor >= 0 {
		panic("in For")
	}
	return CheckFunc(func(*cluster.Node) Verdict {
		if *m.inCheck--; *m.inCheck >= 0 {
			panic("in Check")
		}
		return affinityDiffers
	})
}

func TestAPanicOfAPredicateFailsItsCallAndNoLaterOne(t *testing.T) {
	b := newStoreBench(t, 1<<30)
	for i := range 3 {
		if err := b.cluster.Set(storeNode(fmt.Sprintf("node-%d", i), 8)); err != nil {
			t.Fatal(err)
		}
	}
	inFor, inCheck := 1, 1
	b.store.Profile.predicates = append(b.store.Profile.predicates, moody{&inFor, &inCheck})
	pod := cluster.NewPod(storePod(0, 0))
	for _, want := range []any{"in For", "in Check"} {
		func() {
			defer func() {
				if got := recover(); got != want {
					t.Fatalf("recovered %v, want %v", got, want)
				}
			}()
			view := b.store.View(pod)
			defer view.Close()
			view.Verdict(0)
		}()
	}
	view := b.store.View(pod) // would hang on a lock that was left behind
	for node := range view.Snapshot.Nodes() {
		if got := view.Verdict(node.Index); got != affinityDiffers {
			t.Errorf("%s: verdict %d was left by a call that panicked", node.Name, got)
		}
	}
	view.Close()
	if class := b.store.Classes()[0]; class.Calls-class.Hits != 3 {
		t.Errorf("of 3 calls, 2 of them panicking, %d found nothing: what a plugin left half done is used", class.Calls-class.Hits)
	}
}

func TestATrialOfWhichAPredicatePanicsCanBeClosed(t *testing.T) {
	b := newStoreBench(t, 1<<30)
	inFor, inCheck := 0, 0
	b.store.Profile.predicates = append(b.store.Profile.predicates, moody{&inFor, &inCheck})
	add := func(name string) {
		t.Helper()
		if err := b.cluster.Set(storeNode(name, 8)); err != nil {
			t.Fatal(err)
		}
	}
	pod := cluster.NewPod(storePod(0, 0))
	panics := func(step func()) {
		t.Helper()
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		inCheck = 1
		step()
	}
	add("a")
	trial := b.store.Try(pod)
	add("b")
	panics(func() { trial.Advance(pod, b.cluster.Snapshot()) })
	trial.Close()
	panics(func() { b.store.Try(pod) })
	panics(func() { b.store.Refresh(pod) })
	b.askAll(storePod(0, 0)) // would hang on a lock that was left behind
}

// whileNamespace is against all nodes while there is a namespace of its name.
type whileNamespace string

func (whileNamespace) Name() string { return "WhileNamespace" }

func (whileNamespace) Aspects() cluster.Aspect { return cluster.AspectNamespace }

func (p whileNamespace) For(_ *cluster.Pod, snap *cluster.Snapshot) Check {
	if _, exists := snap.Namespaces.Get(string(p)); !exists {
		return nil
	}
	return CheckFunc(func(*cluster.Node) Verdict { return serviceAffinityDiffers })
}

func TestACheckThatGoesLeavesNoVerdictBehind(t *testing.T) {
	b := newStoreBench(t, 1<<30)
	b.store.Profile.predicates = append(b.store.Profile.predicates, whileNamespace("x"))
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "x"}}
	cordoned := storeNode("node", 8)
	cordoned.Spec.Unschedulable = true
	for _, object := range []runtime.Object{namespace, cordoned} {
		if err := b.cluster.Set(object); err != nil {
			t.Fatal(err)
		}
	}
	pod := cluster.NewPod(storePod(0, 0))
	verdict := func() Verdict {
		view := b.store.View(pod)
		defer view.Close()
		return view.Verdict(0)
	}
	if got := verdict(); got != nodeUnschedulable|hopeless {
		t.Fatalf("verdict %d", got)
	}
	// The first predicate comes to accept the node in the same step in which the last one goes.
	if err := b.cluster.Set(storeNode("node", 8)); err != nil {
		t.Fatal(err)
	}
	if err := b.cluster.Delete(namespace); err != nil {
		t.Fatal(err)
	}
	if got := verdict(); got != Fits {
		t.Errorf("verdict %d after all that spoke against the node is gone", got)
	}
}

func TestAClassThatTheJournalDoesNotReachBackToIsForgotten(t *testing.T) {
	b := newStoreBench(t, 1<<30)
	ask := func(controller int) (fits bool) {
		view := b.store.View(cluster.NewPod(storePod(controller, 0)))
		defer view.Close()
		return view.Verdict(0) == Fits
	}
	changes := func(n int) { // after which the node is too small for a pod
		for i := range n {
			if err := b.cluster.Set(storeNode("node", int64(i%2))); err != nil {
				t.Fatal(err)
			}
		}
	}
	changes(1)
	ask(0)
	ask(1)
	changes(1000)
	ask(1)
	if got := len(b.store.entries); got != 2 {
		t.Fatalf("%d classes after few changes", got)
	}
	changes(140_000) // more than a journal keeps
	if err := b.cluster.Set(storeNode("node", 8)); err != nil {
		t.Fatal(err)
	}
	if !ask(1) {
		t.Error("a verdict is remembered that the journal does not reach back to")
	}
	if got := len(b.store.entries); got != 1 {
		t.Errorf("%d classes are remembered, one of them for nothing", got)
	}
}

func TestEveryProcessNamesAClassAlike(t *testing.T) {
	one, other := newStoreBench(t, 1<<30).store, newStoreBench(t, 1<<30).store
	p := cluster.NewPod(storePod(1, 1))
	if a, b := one.HashOf(p), other.HashOf(p); a != b || len(a) != 16 {
		t.Errorf("one process names it %q, another one %q", a, b)
	}
	differs := cluster.NewPod(storePod(2, 2))
	if a, b := one.HashOf(p), one.HashOf(differs); a == b {
		t.Errorf("two classes are named %q", a)
	}
}
