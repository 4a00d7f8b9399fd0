package effort

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"muster.dev/muster/e2e/binaries"
)

func TestQuantilesAreOfTheAttemptsThatFoundANode(t *testing.T) {
	const text = `# TYPE scheduler_scheduling_attempt_duration_seconds histogram
scheduler_scheduling_attempt_duration_seconds_bucket{profile="a",result="scheduled",le="0.001"} 0
scheduler_scheduling_attempt_duration_seconds_bucket{profile="a",result="scheduled",le="0.002"} 40
scheduler_scheduling_attempt_duration_seconds_bucket{profile="a",result="scheduled",le="0.004"} 60
scheduler_scheduling_attempt_duration_seconds_bucket{profile="a",result="scheduled",le="+Inf"} 60
scheduler_scheduling_attempt_duration_seconds_sum{profile="a",result="scheduled"} 1
scheduler_scheduling_attempt_duration_seconds_count{profile="a",result="scheduled"} 60
scheduler_scheduling_attempt_duration_seconds_bucket{profile="b",result="scheduled",le="0.001"} 0
scheduler_scheduling_attempt_duration_seconds_bucket{profile="b",result="scheduled",le="0.002"} 40
scheduler_scheduling_attempt_duration_seconds_bucket{profile="b",result="scheduled",le="0.004"} 40
scheduler_scheduling_attempt_duration_seconds_bucket{profile="b",result="scheduled",le="+Inf"} 40
scheduler_scheduling_attempt_duration_seconds_sum{profile="b",result="scheduled"} 1
scheduler_scheduling_attempt_duration_seconds_count{profile="b",result="scheduled"} 40
scheduler_scheduling_attempt_duration_seconds_bucket{profile="b",result="unschedulable",le="0.001"} 1000
scheduler_scheduling_attempt_duration_seconds_bucket{profile="b",result="unschedulable",le="+Inf"} 1000
scheduler_scheduling_attempt_duration_seconds_sum{profile="b",result="unschedulable"} 1
scheduler_scheduling_attempt_duration_seconds_count{profile="b",result="unschedulable"} 1000
`
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	h := attempts(families["scheduler_scheduling_attempt_duration_seconds"])
	// 80 of 100 lie between 1 and 2 ms, 20 between 2 and 4.
	for part, want := range map[float64]time.Duration{0.4: 1500 * time.Microsecond, 0.9: 3 * time.Millisecond, 1: 4 * time.Millisecond} {
		if got := h.Quantile(part); got.Round(time.Microsecond) != want {
			t.Errorf("quantile %v is %s, want %s", part, got, want)
		}
	}
}

func TestWhatWasSpentBeforeIsNotCharged(t *testing.T) {
	const scheduler = Part(binaries.Scheduler)
	before := &spent{cpu: map[Part]time.Duration{scheduler: 5 * time.Second}}
	after := &spent{cpu: map[Part]time.Duration{scheduler: 7 * time.Second, Extender: time.Second}}
	each := after.since(before).each(100)
	want := PerPod{
		CPU: map[Part]time.Duration{scheduler: 20 * time.Millisecond, Extender: 10 * time.Millisecond},
	}
	if diff := cmp.Diff(want, each); diff != "" {
		t.Errorf("each pod (-want +got):\n%s", diff)
	}
	if got := each.Total(); got != 30*time.Millisecond {
		t.Errorf("all parts need %s, want 30ms", got)
	}
}
