package predicates

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/cluster"
)

// crowded has nodes of three zones: some are full, tainted or cordoned, or lack a CSI driver or the room for a
// volume more.
func crowded(t testing.TB, nodes int) *storeBench {
	t.Helper()
	b := newStoreBench(t, 1<<40)
	objects := slices.Concat(disks(ebsDriver, "a", "b"), []runtime.Object{csiDriver(ebsDriver, true)})
	for i := range nodes {
		n := storeNode(fmt.Sprintf("node-%d", i), int64(1+i%8))
		n.Labels = map[string]string{corev1.LabelHostname: n.Name, corev1.LabelTopologyZone: fmt.Sprint(i % 3)}
		n.Spec.Unschedulable = i%11 == 0
		if i%7 == 0 {
			n.Spec.Taints = []corev1.Taint{{Key: "dedicated", Effect: corev1.TaintEffectNoSchedule}}
		}
		driver := ebsDriver
		if i%5 == 0 {
			driver = otherDriver
		}
		objects = append(objects, n, csiNode(n.Name, driver, int32(i%3)))
		if i%4 == 0 {
			placed := pod(wearing("app", []string{"web", "hog"}[i/4%2]), claiming("b"))
			placed.UID, placed.Spec.NodeName = types.UID(fmt.Sprint("placed-", i)), n.Name
			objects = append(objects, placed)
		}
	}
	for _, object := range objects {
		if err := b.cluster.Set(object); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// demandingAll asks for what most predicates look at.
func demandingAll(number int) *corev1.Pod {
	p := storePod(0, number)
	p.Labels = map[string]string{"app": "web"}
	claiming("a")(p)
	keepingOff(aboutPods(corev1.LabelHostname, "app", "hog"))(p)
	spreadBy(corev1.LabelTopologyZone, 1000, corev1.DoNotSchedule, about("app"))(p)
	return p
}

func everyIndex(snap *cluster.Snapshot) []int32 { return append(indexes(snap), -1) }

// TestJudgingTogetherSaysWhatJudgingAloneDoes asks about each node, those judged twice and one that is not there included.
func TestJudgingTogetherSaysWhatJudgingAloneDoes(t *testing.T) {
	const nodes = 3 * leastTogether
	b := crowded(t, nodes)
	b.store.helpers = make(helpers, 3)
	loner := demandingAll(1)
	loner.OwnerReferences = nil // and so without a class
	for name, object := range map[string]*corev1.Pod{"a class": demandingAll(0), "a pod without a class": loner} {
		t.Run(name, func(t *testing.T) {
			asked := cluster.NewPod(object)
			fresh := b.store.Profile.Judge(asked, b.cluster.Snapshot())
			view := b.store.View(asked)
			defer view.Close()
			view.JudgeAll(slices.Concat(everyIndex(view.Snapshot), everyIndex(view.Snapshot)[:100]))
			verdicts, wrong := map[Verdict]bool{}, 0
			for node := range view.Snapshot.Nodes() {
				got, want := view.Verdict(node.Index), fresh.Verdict(node)
				verdicts[want] = true
				if got != want {
					wrong++
				}
			}
			if wrong > 0 || len(verdicts) < 6 {
				t.Errorf("of %d verdicts %d are wrong; there are %d different ones", nodes, wrong, len(verdicts))
			}
			if view.entry == nil {
				return
			}
			alone := entry{class: view.entry.class, judgement: fresh, evaluated: make([]causes, len(fresh.checks))}
			alone.grow(view.Snapshot.IndexEnd())
			for node := range view.Snapshot.Nodes() {
				alone.judge(node)
			}
			for what, diff := range map[string]string{
				"predicates against nodes": cmp.Diff(alone.against, view.entry.against), "totals": cmp.Diff(alone.totals, view.entry.totals),
				"evaluations": cmp.Diff(alone.evaluated, view.entry.evaluated),
			} {
				if diff != "" {
					t.Errorf("%s (-alone +together):\n%s", what, diff)
				}
			}
		})
	}
}

func TestHelpersDoEveryPartOnceAndAreNoMoreThanThereAre(t *testing.T) {
	h := make(helpers, 2)
	var mu sync.Mutex
	done, working, most := map[int]int{}, 0, 0
	h.share(100, func(part int) {
		mu.Lock()
		working++
		most = max(most, working)
		mu.Unlock()
		mu.Lock()
		defer mu.Unlock()
		working--
		done[part]++
	})
	for part := range 100 {
		if done[part] != 1 {
			t.Errorf("part %d is done %d times", part, done[part])
		}
	}
	if len(done) != 100 || most > 3 || len(h) != 0 {
		t.Errorf("%d parts are done, by up to %d at a time; %d helpers work still", len(done), most, len(h))
	}
}

func TestAPanicBesideOthersFailsTheCall(t *testing.T) {
	b := crowded(t, 2*leastTogether)
	b.store.helpers = make(helpers, 3)
	var mu sync.Mutex
	left := 1
	b.store.Profile.predicates = append(b.store.Profile.predicates, stumbling{func() {
		mu.Lock()
		defer mu.Unlock()
		if left--; left >= 0 {
			panic("in Check")
		}
	}})
	asked := cluster.NewPod(demandingAll(0))
	judge := func() (failed any) {
		defer func() { failed = recover() }()
		view := b.store.View(asked)
		defer view.Close()
		view.JudgeAll(indexes(view.Snapshot))
		return nil
	}
	if got := judge(); got != "in Check" {
		t.Fatalf("recovered %v", got)
	}
	if got := judge(); got != nil {
		t.Fatalf("the next call fails as well: %v", got)
	}
	if class := b.store.Classes()[0]; class.Calls-class.Hits != 2 || class.Judged != 2*leastTogether {
		t.Errorf("%d calls found nothing, and %d nodes are judged", class.Calls-class.Hits, class.Judged)
	}
}

// stumbling fits every node on which it does not stumble.
type stumbling struct{ stumble func() }

func (stumbling) Name() string            { return "Stumbling" }
func (stumbling) Aspects() cluster.Aspect { return cluster.AspectLabels }

func (s stumbling) For(*cluster.Pod, *cluster.Snapshot) Check {
	return CheckFunc(func(*cluster.Node) Verdict { s.stumble(); return Fits })
}

// BenchmarkFullEvaluation judges a class that is new on all of 5,000 nodes, by one core and by all that are free.
func BenchmarkFullEvaluation(b *testing.B) {
	bench := crowded(b, 5000)
	for name, h := range map[string]helpers{"one core": nil, "all cores": newHelpers()} {
		b.Run(name, func(b *testing.B) {
			bench.store.helpers = h
			number := 0
			for b.Loop() {
				object := demandingAll(number)
				object.OwnerReferences[0].UID = types.UID(fmt.Sprint(name, number))
				number++
				view := bench.store.View(cluster.NewPod(object))
				view.JudgeAll(indexes(view.Snapshot))
				for node := range view.Snapshot.Nodes() {
					view.Verdict(node.Index)
				}
				view.Close()
			}
		})
	}
}
