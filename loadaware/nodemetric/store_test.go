package nodemetric

import (
	"errors"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/client-go/tools/cache"

	"muster.dev/muster/api/slo/v1alpha1"
)

func TestANodeMetricThatMakesNoSenseLeavesWhatWasKnown(t *testing.T) {
	inWorld(t, func(w *world) {
		read := followed{}
		w.store.ReportTo(read, w.log, w.refusals())
		w.write(map[string]any{
			"metadata": map[string]any{"name": "n", "resourceVersion": "1"},
			"status": map[string]any{"updateTime": "2026-01-02T03:04:05Z", "nodeMetric": map[string]any{
				"nodeUsage": map[string]any{"resources": map[string]any{"cpu": "1", "memory": "1"}},
			}},
		})
		w.watch()
		known := read["n"]
		if known == nil || known.Node.MilliCPU != 1000 {
			t.Fatalf("read %+v, want a core", known)
		}
		bad := map[string]any{"metadata": map[string]any{"name": "n"}, "status": map[string]any{"updateTime": "noon"}}
		w.must(w.dynamic.Tracker().Delete(v1alpha1.NodeMetrics(), "", "n"))
		w.write(bad)
		w.watch()
		if read["n"] != known {
			t.Errorf("read %+v, want what was known", read["n"])
		}
		if want := `NodeMetric n: status.updateTime: Invalid value: \"noon\"`; !strings.Contains(w.logged.String(), want) {
			t.Errorf("the log does not have %s:\n%s", want, w.logged.String())
		}
	})
}

// TestAbsurdFiguresOfANodeMetricLeaveWhatWasKnown has a node that uses 9 cores, and then says something that cannot be.
func TestAbsurdFiguresOfANodeMetricLeaveWhatWasKnown(t *testing.T) {
	type amounts = map[string]any
	status := func(node, system any, pods ...any) map[string]any {
		return map[string]any{"updateTime": "2026-01-02T03:04:05Z", "podsMetric": pods, "nodeMetric": amounts{
			"nodeUsage": amounts{"resources": node}, "systemUsage": amounts{"resources": system},
		}}
	}
	for _, test := range []struct {
		name   string
		status map[string]any
		told   string
	}{
		{"CPU below zero", status(amounts{"cpu": "-4", "memory": "1"}, nil), "node=n resource=cpu value=-4 reason=below_zero"},
		{"no CPU beside memory", status(amounts{"memory": "1"}, nil), `node=n resource=cpu value="" reason=missing`},
		{"no memory beside CPU", status(amounts{"cpu": "1"}, nil), `node=n resource=memory value="" reason=missing`},
		{"nothing at all", map[string]any{"updateTime": "2026-01-02T03:04:05Z"}, `node=n resource=cpu value="" reason=missing`},
		{
			"less than nothing beside pods", status(amounts{"cpu": "1", "memory": "1"}, amounts{"memory": "-1Mi"}),
			"node=n resource=memory value=-1Mi reason=below_zero",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				read := followed{}
				w.store.ReportTo(read, w.log, w.refusals())
				say := func(status map[string]any) {
					_ = w.dynamic.Tracker().Delete(v1alpha1.NodeMetrics(), "", "n")
					w.write(map[string]any{"metadata": map[string]any{"name": "n"}, "status": status})
					w.watch()
				}
				say(status(amounts{"cpu": "9", "memory": "1"}, nil))
				known := read["n"]
				say(test.status)
				say(test.status)
				if read["n"] != known || known.Node.MilliCPU != 9000 {
					t.Errorf("read %+v, want the 9 cores that were known", read["n"])
				}
				if got := strings.Count(w.logged.String(), test.told); got != 1 {
					t.Errorf("told %d times, want once, of %s:\n%s", got, test.told, w.logged.String())
				}
				if got, err := testutil.GatherAndCount(w.registry, "muster_load_refused_figures_total"); err != nil || got == 0 {
					t.Errorf("counted %d, %v", got, err)
				}
			})
		})
	}
}

func TestAPodThatANodeMetricSaysSomethingAbsurdOfIsNotMeasured(t *testing.T) {
	inWorld(t, func(w *world) {
		read := followed{}
		w.store.ReportTo(read, w.log, w.refusals())
		used := func(cpu, memory string) map[string]any {
			return map[string]any{"resources": map[string]any{"cpu": cpu, "memory": memory}}
		}
		w.write(map[string]any{"metadata": map[string]any{"name": "n"}, "status": map[string]any{
			"updateTime": "2026-01-02T03:04:05Z",
			"nodeMetric": map[string]any{
				"nodeUsage": used("1", "1"),
				"aggregatedNodeUsages": []any{
					map[string]any{"duration": "5m", "usage": map[string]any{"p95": used("-1", "1"), "avg": used("1", "1")}},
				},
			},
			"podsMetric": []any{
				map[string]any{"namespace": "default", "name": "right", "podUsage": used("1", "1")},
				map[string]any{"namespace": "default", "name": "negative", "podUsage": used("-1", "1")},
				map[string]any{"namespace": "default", "name": "empty"},
			},
		}})
		w.watch()
		got := read["n"]
		if _, right := got.Pods[pod("right")]; !right || len(got.Pods) != 1 {
			t.Errorf("measured pods %v, want one", got.Pods)
		}
		if len(got.Aggregated) != 1 || got.Aggregated[0].Type != "avg" {
			t.Errorf("statistics %v, want the average alone", got.Aggregated)
		}
		if want := "pod=default/negative resource=cpu value=-1"; strings.Count(w.logged.String(), "figure refused") != 1 ||
			!strings.Contains(w.logged.String(), want) {
			t.Errorf("want one line, of %s:\n%s", want, w.logged.String())
		}
	})
}

func TestWithTheCustomResourceAllNodeMetricsGo(t *testing.T) {
	inWorld(t, func(w *world) {
		read := followed{}
		w.store.ReportTo(read, w.log, w.refusals())
		w.writeEmpty("n", "u")
		w.writeEmpty("m", "v")
		w.watch()
		var told error
		w.store.Handler(func(err error) { told = err }).Drop()
		if read["n"] != nil || read["m"] != nil || len(w.store.Names()) > 0 {
			t.Errorf("read %v and kept %v, want nothing", read, w.store.Names())
		}
		if !errors.Is(told, ErrUndefined) {
			t.Errorf("told %v", told)
		}
	})
}

func TestTrimmingWhatIsTrimmedChangesNothing(t *testing.T) {
	for _, object := range []any{&Observed{}, cache.DeletedFinalStateUnknown{Key: "n"}} {
		if got, err := Trim(object); got != object || err != nil {
			t.Errorf("trimmed %v to %v with error %v", object, got, err)
		}
	}
}
