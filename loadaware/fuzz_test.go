package loadaware

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/bounded"
	"muster.dev/muster/api/bounded/boundedtest"
)

// FuzzAnnotations reads what annotations of a node say, and judges a pod by them.
func FuzzAnnotations(f *testing.F) {
	f.Add(
		`{"usageThresholds":{"cpu":60,"memory":90},"prodUsageThresholds":{"cpu":50},"aggregatedUsage":{"usageThresholds":{"cpu":70},`+
			`"usageAggregationType":"p95","usageAggregatedDuration":"5m"}}`,
		`{"cpu":"4","memory":"8Gi"}`,
	)
	f.Add(`{"usageThresholds":{"cpu":-1,"nothing":101}}`, `{"cpu":"-1"}`)
	for _, text := range append(boundedtest.Texts(), `{`+boundedtest.Entries(200, `"r%d":"1"`)+`}`) {
		f.Add(text, text)
	}
	for _, amount := range boundedtest.Quantities() {
		f.Add(`{"usageThresholds":{"cpu":`+amount+`}}`, `{"cpu":"`+amount+`","memory":`+amount+`}`)
	}
	f.Fuzz(func(t *testing.T, thresholds, raw string) {
		annotated := func(node *corev1.Node) {
			node.Annotations = map[string]string{AnnotationUsageThresholds: thresholds, AnnotationRawAllocatable: raw}
		}
		r := scene{node: []func(*corev1.Node){annotated}, usage: using("5", "5000")}.raise(t)
		var read *custom
		boundedtest.Bound{Beside: 4 * bounded.Memory(longest)}.Check(t, 0, func() { read = r.load.readAnnotations(r.node.Node) })
		for _, wrong := range read.wrong {
			if len(wrong.err.Error()) > 16<<10 {
				t.Errorf("of %s it is said in %d bytes that it is wrong", wrong.name, len(wrong.err.Error()))
			}
		}
		for _, amount := range read.raw {
			if amount.amount < 0 {
				t.Errorf("the node has %d of resource %d", amount.amount, amount.resource)
			}
		}
		boundedtest.Ends(func() {
			for _, explained := range r.profile.Explain(r.pod, r.cluster.Snapshot()) {
				for _, score := range explained.Scores {
					if score.Score < 0 || score.Score > 100 {
						t.Errorf("the score is %d", score.Score)
					}
				}
			}
		})
	})
}
