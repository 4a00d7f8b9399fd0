// Package histogram sums histograms that processes show as metrics, and tells their quantiles.
package histogram

import (
	"maps"
	"math"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"
)

// Sum adds Prometheus histograms of durations that have the same buckets. The zero value has no durations.
type Sum struct {
	// Count is how many durations there are.
	Count      uint64
	cumulative map[float64]uint64 // by upper bound in seconds
}

// Add adds a histogram.
func (s *Sum) Add(other *dto.Histogram) {
	if s.cumulative == nil {
		s.cumulative = map[float64]uint64{}
	}
	s.Count += other.GetSampleCount()
	for _, b := range other.GetBucket() {
		s.cumulative[b.GetUpperBound()] += b.GetCumulativeCount()
	}
}

// Since returns what was added since an earlier state of the sum.
func (s *Sum) Since(before Sum) Sum {
	since := Sum{Count: s.Count - before.Count, cumulative: map[float64]uint64{}}
	for bound, count := range s.cumulative {
		since.cumulative[bound] = count - before.cumulative[bound]
	}
	return since
}

// Quantile interpolates within a bucket, as Prometheus' histogram_quantile does. What is
// above the last bound is told as the last bound, and of nothing it is 0.
func (s *Sum) Quantile(q float64) time.Duration {
	rank := q * float64(s.Count)
	var lower, below float64
	if rank == 0 {
		return 0
	}
	for _, upper := range slices.Sorted(maps.Keys(s.cumulative)) {
		upTo := float64(s.cumulative[upper])
		if math.IsInf(upper, 1) {
			break
		}
		if upTo >= rank && upTo > below {
			return seconds(lower + (upper-lower)*(rank-below)/(upTo-below))
		}
		lower, below = upper, upTo
	}
	return seconds(lower)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
