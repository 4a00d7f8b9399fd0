package source

import (
	"slices"
	"time"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// usualDurations returns the lengths of time that statistics of all nodes are over, ascending.
func usualDurations() []time.Duration {
	return []time.Duration{5 * time.Minute, 10 * time.Minute, 30 * time.Minute}
}

// Bounds of what is kept of a node, and made of it.
const (
	// LongestDuration is the longest time that there are statistics over.
	LongestDuration = config.LongestStatistic
	// mostDurations is how many there are besides the usual ones.
	mostDurations = 8
	// mostSamples is how many samples there are of a node. Where more come within the longest time that
	// is wanted, those between are left out.
	mostSamples = 1801
)

// Durations returns the times to keep statistics over, ascending: the usual ones, and the first of the wanted
// ones, as far as they are within bounds.
func Durations(wanted []time.Duration) []time.Duration {
	all, more := usualDurations(), 0
	for _, d := range wanted {
		if d > 0 && d <= LongestDuration && more < mostDurations && !slices.Contains(all, d) {
			all, more = append(all, d), more+1
		}
	}
	slices.Sort(all)
	return all
}

// percentiles returns the statistics beside the average.
func percentiles() []percentile {
	return []percentile{{"p50", 50}, {"p90", 90}, {"p95", 95}, {"p99", 99}}
}

type percentile struct {
	name    string
	percent int
}

const average = "avg"

// history is the use of a node within span up to the latest sample, oldest first. It has no more samples than
// come in the interval, and at most mostSamples.
type history struct {
	interval, span time.Duration
	samples        []sample
}

type sample struct {
	at   time.Time
	used cluster.Resources
}

// newHistory returns an empty history for samples that arrive once per interval.
func newHistory(interval time.Duration) *history {
	return &history{interval: interval, span: slices.Max(usualDurations())}
}

// add adds a sample, and drops samples that are too old or too many. It returns false, and does nothing, when
// the sample is not newer than all others.
func (h *history) add(s sample) bool {
	last := len(h.samples) - 1
	if last >= 0 && !s.at.After(h.samples[last].at) {
		return false
	}
	if last > 0 && h.samples[last].at.Sub(h.samples[last-1].at) < h.span/mostSamples {
		h.samples = h.samples[:last]
	}
	h.samples = append(h.samples, s)
	old := len(h.samples) - len(h.last(h.span))
	limit := min(int(h.span/h.interval)+1, mostSamples)
	h.samples = slices.Delete(h.samples, 0, max(old, len(h.samples)-limit))
	return true
}

// last returns the samples of some time up to the newest one.
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

// aggregates returns all statistics over some durations, as far as there are samples. A percentile is the
// least value that its percentage of the samples does not exceed.
func (h *history) aggregates(over []time.Duration) []cluster.Aggregate {
	var all []cluster.Aggregate
	for _, d := range over {
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

// scalarsOf returns the scalar resources that some sample has an amount of, in their order.
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
