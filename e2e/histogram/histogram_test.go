package histogram

import (
	"math"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
)

// of is a histogram by upper bounds and how many durations are below each, the last of all.
func of(cumulative map[float64]uint64) *dto.Histogram {
	h := &dto.Histogram{SampleCount: new(cumulative[math.Inf(1)])}
	for bound, count := range cumulative {
		h.Bucket = append(h.Bucket, &dto.Bucket{UpperBound: new(bound), CumulativeCount: new(count)})
	}
	return h
}

func TestQuantiles(t *testing.T) {
	var s Sum
	if got := s.Quantile(0.5); got != 0 {
		t.Errorf("of nothing: %s", got)
	}
	s.Add(of(map[float64]uint64{1: 0, 2: 40, 4: 60, math.Inf(1): 60}))
	s.Add(of(map[float64]uint64{1: 0, 2: 40, 4: 40, math.Inf(1): 50}))
	// Of 110, 80 lie between 1 and 2 s, 20 between 2 and 4, and 10 beyond.
	quantiles := map[float64]time.Duration{0: 0, 40. / 110: 1500 * time.Millisecond, 90. / 110: 3 * time.Second, 0.99: 4 * time.Second}
	for q, want := range quantiles {
		if got := s.Quantile(q); got.Round(time.Microsecond) != want {
			t.Errorf("quantile %v is %s, want %s", q, got, want)
		}
	}
}

func TestWhatWasThereBeforeIsNotCounted(t *testing.T) {
	var s Sum
	s.Add(of(map[float64]uint64{1: 10, 2: 10, math.Inf(1): 10}))
	before := s.Since(Sum{})
	s.Add(of(map[float64]uint64{1: 0, 2: 10, math.Inf(1): 10}))
	since := s.Since(before)
	if got := since.Quantile(0.5); since.Count != 10 || got != 1500*time.Millisecond {
		t.Errorf("%d durations since, half of them below %s, want 10 and 1.5s", since.Count, got)
	}
}
