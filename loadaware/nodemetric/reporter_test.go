package nodemetric

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unique"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/slo/v1alpha1"
	"muster.dev/muster/cluster"
)

// refuse has the API server not know the resource, while away.
func refuse(away *atomic.Bool) clienttesting.ReactionFunc {
	return func(clienttesting.Action) (bool, runtime.Object, error) {
		return away.Load(), nil, apierrors.NewNotFound(v1alpha1.NodeMetrics().GroupResource(), "")
	}
}

func (w *world) reporter() *Reporter {
	return NewReporter(ReporterOptions{
		Logger: w.log, Clock: clock.RealClock{}, Metrics: w.metrics, Store: w.store, Dynamic: w.dynamic,
	})
}

func (w *world) writeEmpty(name, uid string) {
	w.write(map[string]any{
		"metadata": map[string]any{"name": name, "uid": uid},
		"spec": map[string]any{"metricCollectPolicy": map[string]any{
			"reportIntervalSeconds": int64(60), "nodeAggregatePolicy": map[string]any{"durations": []any{"5m"}},
		}},
	})
}

func measured(at time.Time) *cluster.Usage {
	return &cluster.Usage{
		Updated:  at,
		Interval: 20 * time.Second,
		Node: cluster.Resources{
			MilliCPU:         1500,
			Memory:           1 << 30,
			EphemeralStorage: 1 << 20,
			Scalars:          []cluster.Scalar{{Name: unique.Make(corev1.ResourceName("example.com/two")), Amount: 2}},
		},
		System: cluster.Resources{MilliCPU: 100, Memory: 1 << 20},
		Aggregated: []cluster.Aggregate{
			{Type: "p95", Duration: 5 * time.Minute, Used: cluster.Resources{MilliCPU: 1800, Memory: 1 << 30}},
			{Type: "p95", Duration: 10 * time.Minute, Used: cluster.Resources{MilliCPU: 1900, Memory: 1 << 30}},
		},
		Pods: map[types.NamespacedName]cluster.PodUsage{
			pod("a"): {Used: cluster.Resources{MilliCPU: 1000, Memory: 1 << 20}, Priority: "koord-prod"},
			pod("b"): {Used: cluster.Resources{MilliCPU: 400}},
		},
	}
}

func TestWhatIsReportedIsWhatIsReadAgain(t *testing.T) {
	inWorld(t, func(w *world) {
		w.writeEmpty("n", "u")
		read := followed{}
		w.store.ReportTo(read, w.log, w.refusals())
		r := w.reporter()
		w.watch()
		if usage := read["n"]; usage == nil || !usage.Updated.IsZero() {
			t.Fatalf("read %+v of a NodeMetric that nobody reported for, want figures of no time", usage)
		}
		defer w.run(r)()
		at := time.Now()
		r.Report("n", measured(at))
		w.pass(0)
		want := measured(at.Local())
		want.Interval = time.Minute           // that of the NodeMetric
		want.Aggregated = want.Aggregated[:1] // what the NodeMetric asks for
		if diff := cmp.Diff(want, read["n"], cmpopts.EquateComparable(cluster.ScalarName{})); diff != "" {
			t.Errorf("want (-) got (+):\n%s", diff)
		}
		w.expect("patch n status")
	})
}

// asking is a NodeMetric that asks for averages and statistics over some times.
func (w *world) asking(name string, averageSeconds int64, durations ...any) {
	w.write(map[string]any{
		"metadata": map[string]any{"name": name, "uid": "u"},
		"spec": map[string]any{"metricCollectPolicy": map[string]any{
			"reportIntervalSeconds": int64(60), "aggregateDurationSeconds": averageSeconds,
			"nodeAggregatePolicy": map[string]any{"durations": durations},
		}},
	})
}

func TestFiguresAreAveragesOverTheTimeThatTheNodeMetricAsksFor(t *testing.T) {
	inWorld(t, func(w *world) {
		w.asking("n", 180, "15m")
		read := followed{}
		w.store.ReportTo(read, w.log, w.refusals())
		w.watch()
		r := w.reporter()
		defer w.run(r)()
		for i, milli := range []int64{9000, 1000, 2000, 4502} {
			usage := measured(time.Now())
			usage.Node.MilliCPU, usage.System.MilliCPU = milli, milli/10
			usage.Pods = map[types.NamespacedName]cluster.PodUsage{pod("old"): {Used: cluster.Resources{MilliCPU: milli / 2}}}
			if i > 1 {
				usage.Pods[pod("new")] = cluster.PodUsage{Used: cluster.Resources{MilliCPU: milli}}
			}
			usage.Aggregated = append(usage.Aggregated, cluster.Aggregate{
				Type: "p95", Duration: 15 * time.Minute, Used: cluster.Resources{MilliCPU: int64(i), Memory: 1},
			})
			r.Report("n", usage)
			w.pass(time.Minute)
		}
		got := read["n"]
		// 1,000, 2,000 and 4,502; a new pod has been there for the last two; the first look was three minutes before the last.
		if got.Node.MilliCPU != 2501 || got.System.MilliCPU != 250 || got.Node.Memory != 1<<30 {
			t.Errorf("the node uses %+v and %+v beside its pods, want the averages of three looks, 2501m and 250m", got.Node, got.System)
		}
		for name, want := range map[string]int64{"old": 1250, "new": 3251} {
			if used := got.Pods[pod(name)].Used.MilliCPU; used != want {
				t.Errorf("pod %s uses %dm, want %dm", name, used, want)
			}
		}
		want := []cluster.Aggregate{{Type: "p95", Duration: 15 * time.Minute, Used: cluster.Resources{MilliCPU: 3, Memory: 1}}}
		if diff := cmp.Diff(want, got.Aggregated); diff != "" {
			t.Errorf("statistics, want (-) got (+):\n%s", diff)
		}
		if w.logged.Len() > 0 {
			t.Errorf("logged:\n%s", w.logged.String())
		}
	})
}

func TestANodeMetricThatAsksForMoreThanIsKeptIsNamedOnce(t *testing.T) {
	inWorld(t, func(w *world) {
		w.asking("n", 1<<40, "5m", "48h")
		w.watch()
		r := w.reporter()
		defer w.run(r)()
		for range 5 {
			r.Report("n", measured(time.Now()))
			w.pass(time.Minute)
		}
		const line = `msg="a NodeMetric asks for figures over more times, or longer ones, than are kept" node=n value=48h0m0s atMost=2h0m0s`
		if got := strings.Count(w.logged.String(), line); got != 1 || strings.Count(w.logged.String(), "\n") != 1 {
			t.Errorf("want once\n%s\ngot\n%s", line, w.logged.String())
		}
	})
}

func TestAnAverageIsOfABoundedNumberOfLooks(t *testing.T) {
	start, kept := time.Unix(1_000_000, 0), looks(nil)
	for i := range 1000 {
		kept = kept.add(measured(start.Add(time.Duration(i)*time.Second)), 5*time.Minute)
		if len(kept) > mostLooks {
			t.Fatalf("%d looks are kept after %d seconds", len(kept), i)
		}
	}
	if first := kept[0].Updated.Sub(start); first < 700*time.Second || first > 760*time.Second {
		t.Errorf("the first look that is kept is of second %v, want one of nearly five minutes ago", first.Seconds())
	}
	if kept = kept.add(measured(start.Add(time.Hour)), 0); len(kept) != 1 {
		t.Errorf("%d looks are kept of no time, want the latest", len(kept))
	}
}

func TestReportsComeInTheIntervalOfTheNodeMetric(t *testing.T) {
	inWorld(t, func(w *world) {
		w.writeEmpty("n", "u")
		w.watch()
		r := w.reporter()
		defer w.run(r)()
		writes := 0
		for range 13 { // three minutes
			r.Report("n", measured(time.Now()))
			w.pass(15 * time.Second)
			writes += len(w.calls())
		}
		if writes != 4 {
			t.Errorf("written %d times, want at once and after each minute", writes)
		}
		w.pass(time.Hour) // the source is away
		w.expect()
	})
}

func TestANodeMetricThatComesLaterIsFilledInAtOnce(t *testing.T) {
	inWorld(t, func(w *world) {
		r := w.reporter()
		defer w.run(r)()
		r.Report("n", measured(time.Now()))
		w.pass(time.Minute)
		w.expect()
		w.writeEmpty("n", "u")
		w.pass(0)
		w.expect("patch n status")
	})
}

func TestNobodyReportsBeforeItLeads(t *testing.T) {
	inWorld(t, func(w *world) {
		w.writeEmpty("n", "u")
		w.watch()
		r := w.reporter()
		r.Report("n", measured(time.Now()))
		w.pass(time.Minute)
		w.expect()
		stop := w.run(r)
		w.expect("patch n status")
		stop()
	})
}

func TestANodeMetricThatIsGoneIsNoError(t *testing.T) {
	inWorld(t, func(w *world) {
		w.writeEmpty("n", "u")
		w.watch()
		var away atomic.Bool
		away.Store(true)
		w.dynamic.PrependReactor("patch", "*", refuse(&away))
		r := w.reporter()
		defer w.run(r)()
		r.Report("n", measured(time.Now()))
		synctest.Wait() // the watch does not show it yet
		w.expect("patch n status")
		r.Report("n", nil)
		w.pass(time.Minute)
		w.expect()
		if w.logged.Len() > 0 {
			t.Errorf("logged:\n%s", w.logged.String())
		}
	})
}
