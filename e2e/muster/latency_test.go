package muster

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

func TestLatenciesAreSummedOverProfilesAndOutcomes(t *testing.T) {
	const metrics = `
# TYPE muster_verb_duration_seconds histogram
muster_verb_duration_seconds_bucket{verb="filter",outcome="ok",le="0.001"} 40
muster_verb_duration_seconds_bucket{verb="filter",outcome="ok",le="0.002"} 60
muster_verb_duration_seconds_bucket{verb="filter",outcome="ok",le="+Inf"} 60
muster_verb_duration_seconds_sum{verb="filter",outcome="ok"} 1
muster_verb_duration_seconds_count{verb="filter",outcome="ok"} 60
muster_verb_duration_seconds_bucket{verb="filter",outcome="error",le="0.001"} 10
muster_verb_duration_seconds_bucket{verb="filter",outcome="error",le="0.002"} 30
muster_verb_duration_seconds_bucket{verb="filter",outcome="error",le="+Inf"} 40
muster_verb_duration_seconds_sum{verb="filter",outcome="error"} 1
muster_verb_duration_seconds_count{verb="filter",outcome="error"} 40
muster_verb_duration_seconds_bucket{verb="bind",outcome="ok",le="0.001"} 0
muster_verb_duration_seconds_bucket{verb="bind",outcome="ok",le="0.002"} 4
muster_verb_duration_seconds_bucket{verb="bind",outcome="ok",le="+Inf"} 4
muster_verb_duration_seconds_sum{verb="bind",outcome="ok"} 1
muster_verb_duration_seconds_count{verb="bind",outcome="ok"} 4
`
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(metrics))
	if err != nil {
		t.Fatal(err)
	}
	want := []VerbLatency{
		{Verb: "bind", Calls: 4, P50: 1500 * time.Microsecond, P99: 1990 * time.Microsecond},
		// 50 of 100 are below 1 ms; the slowest 10 are above the last bound.
		{Verb: "filter", Calls: 100, P50: time.Millisecond, P99: 2 * time.Millisecond},
	}
	if diff := cmp.Diff(want, latencies(families[verbDuration])); diff != "" {
		t.Errorf("latencies (-want +got):\n%s", diff)
	}
}
