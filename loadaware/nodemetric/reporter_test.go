package nodemetric

import (
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
		w.store.ReportTo(read, w.log)
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
