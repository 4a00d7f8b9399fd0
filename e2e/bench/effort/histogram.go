package effort

import (
	"maps"
	"math"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"
)

// histogram counts durations by the upper bound of their bucket, in seconds: each bucket counts what is in the lower ones, too.
type histogram map[float64]uint64

// attempts adds up the attempts of all profiles that found a node.
func attempts(family *dto.MetricFamily) histogram {
	h := histogram{}
	for _, m := range family.GetMetric() {
		for _, label := range m.GetLabel() {
			if label.GetName() != "result" || label.GetValue() != "scheduled" {
				continue
			}
			h[math.Inf(1)] += m.GetHistogram().GetSampleCount()
			for _, bucket := range m.GetHistogram().GetBucket() {
				if bound := bucket.GetUpperBound(); !math.IsInf(bound, 1) {
					h[bound] += bucket.GetCumulativeCount()
				}
			}
		}
	}
	return h
}

func (h histogram) minus(before histogram) histogram {
	less := histogram{}
	for bound, count := range h {
		less[bound] = count - before[bound]
	}
	return less
}

// quantile returns the duration that a part of all is below, by a straight line through its bucket, as Prometheus has it. Beyond
// the last bound it is that bound; of nothing it is 0.
func (h histogram) quantile(part float64) time.Duration {
	rank := part * float64(h[math.Inf(1)])
	if rank == 0 {
		return 0
	}
	var lower, below float64
	for _, bound := range slices.Sorted(maps.Keys(h)) {
		count := float64(h[bound])
		if count >= rank {
			if math.IsInf(bound, 1) {
				break
			}
			lower += (bound - lower) * (rank - below) / (count - below)
			break
		}
		lower, below = bound, count
	}
	return time.Duration(lower * float64(time.Second))
}
