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
	values := make([]int64, len(samples))
	each := func(amount func(*cluster.Resources) int64, set func(of *cluster.Resources, value int64)) {
		sum := int64(0)
		for i := range samples {
			values[i] = amount(&samples[i].used)
			sum += values[i]
		}
		slices.Sort(values)
		n := len(values)
		set(&into[0].Used, (sum+int64(n)/2)/int64(n))
		for i, p := range percentiles() {
			set(&into[i+1].Used, values[(p.percent*n+99)/100-1])
		}
	}
	each(func(r *cluster.Resources) int64 { return r.MilliCPU }, func(r *cluster.Resources, value int64) { r.MilliCPU = value })
	each(func(r *cluster.Resources) int64 { return r.Memory }, func(r *cluster.Resources, value int64) { r.Memory = value })
	each(
		func(r *cluster.Resources) int64 { return r.EphemeralStorage }, func(r *cluster.Resources, value int64) { r.EphemeralStorage = value },
	)
	for _, name := range scalarsOf(samples) {
		each(func(r *cluster.Resources) int64 { return r.Scalar(name) }, func(r *cluster.Resources, value int64) {
			if value != 0 {
				r.Scalars = append(r.Scalars, cluster.Scalar{Name: name, Amount: value})
			}
		})
	}
}

// scalarsOf are the scalar resources of which some sample has something, in their order.
func scalarsOf(samples []sample) []cluster.ScalarName {
	var all cluster.Resources
	for _, s := range samples {
		all = all.Plus(&cluster.Resources{Scalars: s.used.Scalars})
	}
	var names []cluster.ScalarName
	for _, scalar := range all.Scalars {
		names = append(names, scalar.Name)
	}
	return names
}
