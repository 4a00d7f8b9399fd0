package jobs

import (
	"cmp"
	"slices"
	"time"
)

// Start is when a job started.
type Start struct {
	Job *Job
	At  time.Duration
}

// Replay has the jobs of a workload come, start by a rule and end. It returns the starts, in their order.
func Replay(w *Workload, by Rule) (starts []Start) {
	s, memory := &State{Free: make([]int64, w.Nodes)}, &memory{}
	s.Estimate = memory.estimate
	for node := range s.Free {
		s.Free[node] = w.Size
	}
	coming := w.Jobs
	for len(coming) > 0 || len(s.Waiting) > 0 {
		now, end := time.Duration(1<<62), -1
		if len(coming) > 0 {
			now = coming[0].At
		}
		for i := range s.Running {
			if at := s.Running[i].Since + s.Running[i].Job.Runs(Ender{}); at <= now {
				now, end = at, i
			}
		}
		if end >= 0 {
			take(&s.Running[end], s.Free, -1)
			memory.learn(s.Running[end].Job)
			s.Running = slices.Delete(s.Running, end, end+1)
		} else {
			s.Waiting, coming = append(s.Waiting, coming[0]), coming[1:]
		}
		view := *s
		view.Free, view.Running = slices.Clone(s.Free), slices.Clone(s.Running)
		for _, p := range by.Start(now, &view) {
			take(&p, s.Free, 1)
			s.Running = append(s.Running, p)
			starts = append(starts, Start{p.Job, now})
			s.Waiting = slices.DeleteFunc(slices.Clone(s.Waiting), func(j *Job) bool { return j == p.Job })
		}
	}
	return starts
}

// memory expects of a job that says nothing the mean of the last two of its App (Tsafrir, Etsion and Feitelson, Backfilling using
// system-generated predictions rather than user runtime estimates, 2007).
type memory struct{ last [apps][]time.Duration }

func (m *memory) learn(j *Job) { m.last[j.App] = append(m.last[j.App], j.Runs(Ender{})) }

func (m *memory) estimate(j *Job) time.Duration {
	former := m.last[j.App]
	switch {
	case j.Says > 0:
		return j.Says
	case len(former) < 2:
		return never
	default:
		return (former[len(former)-1] + former[len(former)-2]) / 2
	}
}

// Result sums a replay up.
type Result struct {
	// LargeWait is how long the tenth of the jobs waited on average that asks for most.
	LargeWait time.Duration
	// Utilisation is the part of all units that was in use on average over the last four fifths of the time in which jobs come.
	Utilisation float64
	// Slowdown is the mean of (wait + runtime) ÷ runtime, with runtimes of at least ten seconds.
	Slowdown float64
}

// Sum sums the starts of a workload up.
func Sum(w *Workload, starts []Start) (r Result) {
	const shortest = 10 * time.Second
	sorted := slices.SortedStableFunc(slices.Values(starts), func(a, b Start) int { return cmp.Compare(b.Job.asked(), a.Job.asked()) })
	large := sorted[:(len(sorted)+9)/10]
	for _, s := range large {
		r.LargeWait += (s.At - s.Job.At) / time.Duration(len(large))
	}
	from, busy := w.Over/5, 0.0
	for _, s := range starts {
		runs := max(s.Job.Runs(Ender{}), shortest)
		r.Slowdown += float64(s.At-s.Job.At+runs) / float64(runs) / float64(len(starts))
		busy += float64(s.Job.asked()) * float64(max(0, min(s.At+s.Job.Runs(Ender{}), w.Over)-max(s.At, from)))
	}
	r.Utilisation = busy / float64(w.Over-from) / float64(w.Nodes) / float64(w.Size)
	return r
}
