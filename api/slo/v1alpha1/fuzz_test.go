package v1alpha1

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"muster.dev/muster/api/bounded/boundedtest"
)

// FuzzDecode reads NodeMetrics as the watch shows them: their authors may write anything.
func FuzzDecode(f *testing.F) {
	for _, text := range boundedtest.Texts() {
		f.Add([]byte(text))
	}
	f.Add([]byte(`{"metadata":{"name":"n"},"spec":{"metricCollectPolicy":
		{"aggregateDurationSeconds":300,"reportIntervalSeconds":60,"nodeAggregatePolicy":{"durations":["5m"]}}},
		"status":{"updateTime":"2026-01-02T03:04:05Z","nodeMetric":{"nodeUsage":{"resources":{"cpu":"1","memory":"1Gi"}},
		"aggregatedNodeUsages":[{"duration":"5m","usage":{"p95":{"resources":{"cpu":"2"}}}}]},
		"podsMetric":[{"name":"p","namespace":"d","podUsage":{"resources":{"cpu":"100m"}}}]}}`))
	f.Add([]byte(`{"status":{"nodeMetric":{"nodeUsage":{"resources":{"cpu":"1e-30000000","memory":-1,"x":1e300}}},` +
		`"podsMetric":[` + boundedtest.Times(500, "{}") + `]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var fields map[string]any
		if utiljson.Unmarshal(text, &fields) != nil || fields == nil {
			return
		}
		fields["apiVersion"], fields["kind"] = Group+"/"+Version, Kind
		var metric *NodeMetric
		var err error
		boundedtest.Bound{
			Times:  400,
			Beside: 256 << 10,
		}.Check(t, len(text), func() { metric, err = Decode(&unstructured.Unstructured{Object: fields}) })
		switch {
		case err != nil && len(err.Error()) > 16<<10:
			t.Errorf("the error has %d bytes", len(err.Error()))
		case err != nil || metric.Status.NodeMetric == nil:
		default:
			for name, amount := range metric.Status.NodeMetric.NodeUsage.Resources {
				if amount.Sign() < 0 {
					t.Errorf("of %s %s is used", name, &amount)
				}
			}
		}
	})
}
