// Package effort measures what it costs to bind pods, by what does not depend on how many processors share the work: the time of
// a processor that each process needs, and how long kube-scheduler is at a pod.
package effort

import (
	"context"
	"math"
	"time"

	dto "github.com/prometheus/client_model/go"

	"muster.dev/muster/e2e/bench/contender"
	"muster.dev/muster/e2e/bench/lab"
	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/histogram"
	"muster.dev/muster/e2e/podwatch"
	"muster.dev/muster/e2e/process"
)

// Part is a process that takes part when a pod is bound.
type Part string

// Extender is muster, or what stands in for it.
const Extender Part = "extender"

// Parts returns all, in the order in which they are printed.
func Parts() []Part {
	return []Part{Part(binaries.Scheduler), Extender, Part(binaries.APIServer), Part(binaries.Etcd)}
}

// PerPod is the cost of each of some pods.
type PerPod struct {
	// CPU is the time of a processor, by part.
	CPU map[Part]time.Duration
	// Cycle is how long kube-scheduler was at a pod, when it can be at no other one: until it had chosen a node or given up
	// (scheduler_scheduling_algorithm_duration_seconds).
	Cycle Quantiles
	// Attempt is how long its attempts took that found a node (scheduler_scheduling_attempt_duration_seconds). The binding
	// counts, which waits for an API server that is busy: the more pods a second, the longer.
	Attempt Quantiles
}

// Quantiles are of how long something took, 0 when there was none.
type Quantiles struct {
	P50, P99 time.Duration
}

func quantiles(of *histogram.Sum) Quantiles {
	return Quantiles{P50: of.Quantile(0.5), P99: of.Quantile(0.99)}
}

// Total returns the time of a processor of all parts.
func (p PerPod) Total() (sum time.Duration) {
	for _, each := range p.CPU {
		sum += each
	}
	return sum
}

// Cost is something that a pod costs, by which contenders are compared.
type Cost struct {
	// Figure begins the names of its figures, Title heads its column.
	Figure, Title string
	Of            func(PerPod) time.Duration
}

// Costs returns all, in the order in which they are printed.
func Costs() []Cost {
	return []Cost{
		{"cpu", "all", PerPod.Total},
		{"cycle_p50", "cycle p50", func(p PerPod) time.Duration { return p.Cycle.P50 }},
		{"cycle_p99", "cycle p99", func(p PerPod) time.Duration { return p.Cycle.P99 }},
		{"attempt_p50", "attempt p50", func(p PerPod) time.Duration { return p.Attempt.P50 }},
		{"attempt_p99", "attempt p99", func(p PerPod) time.Duration { return p.Attempt.P99 }},
	}
}

// Milliseconds returns the cost of a pod as a number, which is not one where nothing was measured.
func (c Cost) Milliseconds(p PerPod) float64 {
	if cost := c.Of(p); cost > 0 {
		return float64(cost) / float64(time.Millisecond)
	}
	return math.NaN()
}

// Follow returns when a number of pods are bound, and what each has cost since the first ones were. It gives up as
// [lab.Lab.Await] does.
func Follow(
	ctx context.Context, l *lab.Lab, e *contender.Entry, watch *podwatch.Watch, pods int, within time.Duration,
) (PerPod, error) {
	var first *spent
	before := 0
	err := l.Await(ctx, "all pods to be bound", within, func(ctx context.Context) (_ bool, err error) {
		bound := watch.Tally().Bound
		if bound > 0 && first == nil {
			before = bound
			first, err = read(ctx, l, e)
		}
		return bound == pods, err
	})
	if err != nil {
		return PerPod{}, err
	}
	last, err := read(ctx, l, e)
	if err != nil {
		return PerPod{}, err
	}
	return last.since(first).each(pods - before), nil
}

// spent is the cost since the processes started, or since an earlier moment.
type spent struct {
	cpu      map[Part]time.Duration
	cycles   histogram.Sum
	attempts histogram.Sum // that found a node
}

func read(ctx context.Context, l *lab.Lab, e *contender.Entry) (*spent, error) {
	s := &spent{cpu: map[Part]time.Duration{}}
	running := l.Pids()
	for _, p := range Parts() {
		pid, runs := running[binaries.Binary(p)]
		if p == Extender {
			pid, runs = e.ExtenderPid()
		}
		if !runs {
			continue
		}
		var err error
		if s.cpu[p], err = process.CPU(pid); err != nil {
			return nil, err
		}
	}
	metrics, err := l.SchedulerMetrics(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range metrics["scheduler_scheduling_algorithm_duration_seconds"].GetMetric() {
		s.cycles.Add(m.GetHistogram())
	}
	s.attempts = attempts(metrics["scheduler_scheduling_attempt_duration_seconds"])
	return s, nil
}

func (s *spent) since(before *spent) *spent {
	less := &spent{cpu: map[Part]time.Duration{}, cycles: s.cycles.Since(before.cycles), attempts: s.attempts.Since(before.attempts)}
	for p, now := range s.cpu {
		less.cpu[p] = now - before.cpu[p]
	}
	return less
}

func (s *spent) each(pods int) PerPod {
	p := PerPod{CPU: map[Part]time.Duration{}, Cycle: quantiles(&s.cycles), Attempt: quantiles(&s.attempts)}
	for part, all := range s.cpu {
		p.CPU[part] = all / time.Duration(max(pods, 1))
	}
	return p
}

// attempts adds up the attempts of all profiles that found a node.
func attempts(family *dto.MetricFamily) (sum histogram.Sum) {
	for _, m := range family.GetMetric() {
		for _, label := range m.GetLabel() {
			if label.GetName() == "result" && label.GetValue() == "scheduled" {
				sum.Add(m.GetHistogram())
			}
		}
	}
	return sum
}
