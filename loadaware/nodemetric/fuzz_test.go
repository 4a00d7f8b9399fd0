package nodemetric

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"muster.dev/muster/api/bounded"
	"muster.dev/muster/api/bounded/boundedtest"
	"muster.dev/muster/api/slo/v1alpha1"
)

// told is how long an error may be, which is logged, in bytes.
const told = 64 << 10

// FuzzParsePolicy reads the ConfigMap of Koordinator, which others write.
func FuzzParsePolicy(f *testing.F) {
	for _, text := range append(boundedtest.Texts(),
		`{"enable":true,"metricReportIntervalSeconds":20,"metricAggregatePolicy":{"durations":["5m","1h"]},"nodeConfigs":[{"name":"fast",`+
			`"nodeSelector":{"matchLabels":{"pool":"a"}},"metricReportIntervalSeconds":1}]}`,
		`{"nodeConfigs":[`+boundedtest.Times(1000, `{}`)+`]}`, `{"nodeConfigs":[`+boundedtest.Times(
			100, `{"nodeSelector":{"matchExpressions":[{"key":"a","operator":"Near"}]}}`,
		)+`]}`,
		`{"metricReportIntervalSeconds":0,"metricAggregatePolicy":{"durations":[`+boundedtest.Times(1000, `"-1s"`)+`]}}`,
		`{"nodeConfigs":[{"name":"`+strings.Repeat("n", 100_000)+`"}]}`,
	) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var policy *Policy
		var wrong, err error
		boundedtest.Bound{Times: 200, Beside: 2 * bounded.Memory(0)}.Check(t, len(text), func() { policy, wrong, err = ParsePolicy(text) })
		for _, err := range []error{wrong, err} {
			if err != nil && len(err.Error()) > told {
				t.Errorf("an error of %d bytes, of a text of %d", len(err.Error()), len(text))
			}
		}
		if err != nil {
			return
		}
		for _, labels := range []map[string]string{nil, {"pool": "a"}} {
			says := policy.For(labels)
			if *says.AggregateDurationSeconds <= 0 || *says.ReportIntervalSeconds <= 0 {
				t.Errorf("a node is to report %+v", says)
			}
			for _, d := range says.NodeAggregatePolicy.Durations {
				if d.Duration <= 0 {
					t.Errorf("a node is to report over %v", d)
				}
			}
		}
	})
}

// FuzzTrim keeps of a NodeMetric what counts, whatever it says.
func FuzzTrim(f *testing.F) {
	for _, text := range append(boundedtest.Texts(),
		`{"metadata":{"name":"n"},"status":{"updateTime":"2026-01-02T03:04:05Z",`+
			`"nodeMetric":{"nodeUsage":{"resources":{"cpu":"9223372036854775807","memory":"1e30"}}},"podsMetric":[{"name":"p","namespace":"d",`+
			`"podUsage":{"resources":{"cpu":"100m"}}}]}}`,
		`{"metadata":{"name":7},"spec":{"metricCollectPolicy":{"reportIntervalSeconds":9223372036854775807}}}`,
	) {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var fields map[string]any
		if utiljson.Unmarshal(text, &fields) != nil || fields == nil {
			return
		}
		fields["apiVersion"], fields["kind"] = v1alpha1.Group+"/"+v1alpha1.Version, v1alpha1.Kind
		boundedtest.Bound{Times: 400, Beside: 256 << 10}.Check(t, len(text), func() {
			seen, err := Trim(&unstructured.Unstructured{Object: fields})
			observed, is := seen.(*Observed)
			switch {
			case err != nil || !is:
				t.Errorf("trimmed to %T, %v", seen, err)
			case observed.Err == nil && (observed.Usage.Node.MilliCPU < 0 || observed.Usage.Node.Memory < 0 || observed.Usage.Interval < 0):
				t.Errorf("the usage is %+v", observed.Usage)
			}
		})
	})
}
