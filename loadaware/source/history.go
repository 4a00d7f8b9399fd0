package source

import (
	"slices"
	"time"

	"muster.dev/muster/cluster"
)

// aggregateDurations are the lengths of time that statistics are over, ascending.
func aggregateDurations() []time.Duration {
	return []time.Duration{5 * time.Minute, 10 * time.Minute, 30 * time.Minute}
}

// percentiles are the statistics beside the average.
func percentiles() []percentile {
	return []percentile{{"p50", 50}, {"p90", 90}, {"p95", 95}, {"p99", 99}}
}

type percentile struct {
	name    string
	percent int
}

const average = "avg"

// history is what a node used in the last half hour, oldest first, in at most limit
// samples.
type history struct {
	limit   int
	samples []sample
}

type sample struct {
	at   time.Time
	used cluster.Resources
}

// newHistory is an empty history of samples that come in some interval.
func newHistory(interval time.Duration) *history {
	return &history{limit: int(slices.Max(aggregateDurations())/interval) + 1}
}

// add adds a sample, and drops those that are too old or too many. It returns false, and
// does nothing, when the sample is not newer than all others.
func (h *history) add(s sample) bool {
	if last := len(h.samples) - 1; last >= 0 && !s.at.After(h.samples[last].at) {
		return false
	}
	h.samples = append(h.samples, s)
	old := len(h.samples) - len(h.last(slices.Max(aggregateDurations())))
	h.samples = slices.Delete(h.samples, 0, max(old, len(h.samples)-h.limit))
	return true
}

// last are the samples of some time up to the newest one.
func (h *history) last(d time.Duration) []sample {
	from := h.samples[len(h.samples)-1].at.Add(-d)
	i, _ := slices.BinarySearchFunc(h.samples, from, func(s sample, from time.Time) int {
		if s.at.After(from) {
			return 1
		}
		return -1
	})
	return h.samples[i:]
}

// aggregates are all statistics over all durations, as far as there are samples. A percentile is
// the least value that so many percent of the samples do not exceed.
func (h *history) aggregates() []cluster.Aggregate {
	var all []cluster.Aggregate
	for _, d := range aggregateDurations() {
		samples := h.last(d)
		at := len(all)
		all = append(all, cluster.Aggregate{Type: average, Duration: d})
		for _, p := range percentiles() {
			all = append(all, cluster.Aggregate{Type: p.name, Duration: d})
		}
		aggregate(all[at:], samples)
	}
	return all
}

// aggregate fills in the average and the percentiles of samples, resource by resource.
func aggregate(into []cluster.Aggregate, samples []sample) {
	values, scalars := make([]int64, len(samples)), 0
	for _, s := range samples {
		scalars = max(scalars, len(s.used.Scalar))
	}
	for i := range into {
		if scalars > 0 {
			into[i].Used.Scalar = make([]int64, scalars)
		}
	}
	each := func(amount func(*cluster.Resources) *int64) {
		sum := int64(0)
		for i := range samples {
			values[i] = 0
			if v := amount(&samples[i].used); v != nil {
				values[i] = *v
			}
			sum += values[i]
		}
		slices.Sort(values)
		n := len(values)
		*amount(&into[0].Used) = (sum + int64(n)/2) / int64(n)
		for i, p := range percentiles() {
			*amount(&into[i+1].Used) = values[(p.percent*n+99)/100-1]
		}
	}
	each(func(r *cluster.Resources) *int64 { return &r.MilliCPU })
	each(func(r *cluster.Resources) *int64 { return &r.Memory })
	each(func(r *cluster.Resources) *int64 { return &r.EphemeralStorage })
	for i := range scalars {
		each(func(r *cluster.Resources) *int64 {
			if i < len(r.Scalar) {
				return &r.Scalar[i]
			}
			return nil
		})
	}
}
