package nodemetric

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/client-go/tools/cache"

	"muster.dev/muster/api/slo/v1alpha1"
)

func TestANodeMetricThatMakesNoSenseLeavesWhatWasKnown(t *testing.T) {
	inWorld(t, func(w *world) {
		read := followed{}
		w.store.ReportTo(read, w.log)
		w.write(map[string]any{
			"metadata": map[string]any{"name": "n", "resourceVersion": "1"},
			"status": map[string]any{"updateTime": "2026-01-02T03:04:05Z", "nodeMetric": map[string]any{
				"nodeUsage": map[string]any{"resources": map[string]any{"cpu": "1"}},
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

func TestWithTheCustomResourceAllNodeMetricsGo(t *testing.T) {
	inWorld(t, func(w *world) {
		read := followed{}
		w.store.ReportTo(read, w.log)
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
