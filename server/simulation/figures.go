package simulation

import (
	"cmp"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/server/simulation/trace"
)

// Run sums up how jobs fared by one configuration. Times are seconds.
type Run struct {
	Name string `json:"name"` // of the configuration
	// Started and Waiting count jobs: a job has started when all its pods have a node. Jobs that wait at the end count with the wait so far.
	Started int `json:"started"`
	Waiting int `json:"waiting"`
	// Wait is of all jobs, and WaitLargest of the tenth that has most pods.
	Wait        Waits `json:"wait"`
	WaitLargest Waits `json:"waitLargest"`
	// Slowdown is the mean of (wait + runtime) ÷ runtime, with runtimes of at least ten seconds, and at least 1.
	Slowdown float64 `json:"slowdown"`
	// Use is the part of all there is that pods had, on average until the last job came or started: of each resource that jobs ask for.
	Use []Use `json:"use"`
	// IdlePodSeconds is for how long room for pods stood empty as it was booked, over all such pods, and BookedSeconds for how long any
	// room was booked.
	IdlePodSeconds float64 `json:"idlePodSeconds"`
	BookedSeconds  float64 `json:"bookedSeconds"`
	// Forecasts counts the gangs that started after a forecast, and Kept the ones that did by the time that was forecast of nine in ten.
	Forecasts int `json:"forecasts"`
	Kept      int `json:"forecastsKept"`
	// Seconds is how long was simulated.
	Seconds float64 `json:"seconds"`
	// Unstarted are some of the jobs that wait at the end.
	Unstarted []Unstarted `json:"unstarted,omitempty"`
	// The charts have a value for each of as many parts of their time.
	UseOverTime     []float64 `json:"useOverTime"` // of the resource that is named first
	WaitingOverTime []float64 `json:"waitingOverTime"`
}

// Waits sums up how long jobs waited, in seconds.
type Waits struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	Max  float64 `json:"max"`
}

// Use is the part of a resource that was in use.
type Use struct {
	Resource string  `json:"resource"`
	Share    float64 `json:"share"`
}

// Unstarted is a job that waits at the end.
type Unstarted struct {
	Job  string `json:"job"`
	Pods int    `json:"pods"`
	Why  string `json:"why"`
}

const (
	// points is how many values a chart has.
	points = 216
	// shortestRun is the shortest runtime by which a wait is measured.
	shortestRun = 10 * time.Second
	// mostUnstarted is how many jobs are named that wait.
	mostUnstarted = 10
)

// fate is one job with what became of it.
type fate struct {
	*trace.Job
	*Fate
	wait time.Duration // until the start, or the end of the replay
}

// came returns the jobs that came before the end of a replay.
func (r *Record) came(jobs []*trace.Job) (all []fate) {
	for _, j := range jobs {
		if f := &r.Jobs[j.Number]; f.Started {
			all = append(all, fate{j, f, f.At - j.At})
		} else if j.At < r.End {
			all = append(all, fate{j, f, r.End - j.At})
		}
	}
	return all
}

// until is when the last job came or started.
func (r *Record) until(jobs []*trace.Job) (until time.Duration) {
	for _, f := range r.came(jobs) {
		until = max(until, f.Job.At)
		if f.Started {
			until = max(until, f.Fate.At)
		}
	}
	return until
}

// sum sums up a replay. Its charts end with a time, which is more than none.
func (r *Record) sum(name string, in *Input, over time.Duration) Run {
	run := Run{
		Name: name, Forecasts: r.Forecasts, Kept: r.Kept,
		IdlePodSeconds: r.Idle.Seconds(), BookedSeconds: r.Booked.Seconds(), Seconds: r.End.Seconds(),
	}
	all := r.came(in.Trace.Jobs)
	for _, f := range all {
		runs := max(f.Runs(trace.Ender{}), shortestRun)
		run.Slowdown += max(1, float64(f.wait+f.Runs(trace.Ender{}))/float64(runs)) / float64(len(all))
		if f.Started {
			run.Started++
			continue
		}
		if run.Waiting++; len(run.Unstarted) < mostUnstarted {
			run.Unstarted = append(run.Unstarted, Unstarted{f.Name, f.Job.Pods, f.Why})
		}
	}
	run.Wait = waits(all)
	slices.SortStableFunc(all, func(a, b fate) int { return cmp.Compare(b.Job.Pods, a.Job.Pods) })
	run.WaitLargest = waits(all[:(len(all)+9)/10])
	r.use(&run, in, all, over)
	return run
}

func waits(all []fate) (w Waits) {
	if len(all) == 0 {
		return w
	}
	var sorted []float64
	for _, f := range all {
		sorted = append(sorted, f.wait.Seconds())
	}
	slices.Sort(sorted)
	for _, wait := range sorted {
		w.Mean += wait / float64(len(sorted))
	}
	at := func(part float64) float64 { return sorted[max(0, int(math.Ceil(part*float64(len(sorted))))-1)] }
	w.P50, w.P90, w.Max = at(0.5), at(0.9), sorted[len(sorted)-1]
	return w
}

// use fills in what was in use, the scarcest resource first, and the charts.
func (r *Record) use(run *Run, in *Input, all []fate, over time.Duration) {
	window := max(r.until(in.Trace.Jobs), time.Millisecond)
	for i, name := range scarcest(in) {
		whole, parts := newSeries(window, 1), newSeries(over, points)
		total := in.Nodes.Total(name)
		for _, f := range all {
			asks := f.Asks[name]
			share := asks.AsApproximateFloat64() / total
			if share == 0 {
				continue
			}
			for _, pod := range f.Fate.Pods {
				end := min(pod.At+f.Runs(trace.Ender{}), r.End)
				whole.add(pod.At, end, share)
				if i == 0 {
					parts.add(pod.At, end, share)
				}
			}
		}
		run.Use = append(run.Use, Use{string(name), whole.values[0]})
		if i == 0 {
			run.UseOverTime = parts.values
		}
	}
	waiting := newSeries(over, points)
	for _, f := range all {
		waiting.add(f.Job.At, f.Job.At+f.wait, 1)
	}
	run.WaitingOverTime = waiting.values
}

// scarcest returns the resources that there are and jobs ask for, the scarcest first: they ask for the largest part of it.
func scarcest(in *Input) (names []corev1.ResourceName) {
	demand := map[corev1.ResourceName]float64{}
	for _, name := range in.Trace.Resources() {
		total := in.Nodes.Total(name)
		if total == 0 {
			continue
		}
		for _, j := range in.Trace.Jobs {
			asks := j.Asks[name]
			demand[name] += asks.AsApproximateFloat64() * float64(j.Pods) * j.Runs(trace.Ender{}).Seconds() / total
		}
		names = append(names, name)
	}
	slices.SortStableFunc(names, func(a, b corev1.ResourceName) int { return cmp.Compare(demand[b], demand[a]) })
	return names
}

// series has the averages of something over equal parts of a time.
type series struct {
	part   float64 // of the time, in seconds
	values []float64
}

func newSeries(over time.Duration, parts int) series {
	return series{over.Seconds() / float64(parts), make([]float64, parts)}
}

// add adds something that was so from a moment to another one.
func (s series) add(from, to time.Duration, value float64) {
	first, last := from.Seconds()/s.part, to.Seconds()/s.part
	for i := max(0, int(first)); i < len(s.values) && float64(i) < last; i++ {
		s.values[i] += value * (min(last, float64(i+1)) - max(first, float64(i)))
	}
}
