package jobs

import (
	"cmp"
	"slices"
	"time"
)

// Rule says which jobs start. It belongs to one run.
type Rule interface {
	// Start returns the jobs that start now, with their places.
	Start(now time.Duration, s *State) []Placed
}

// State is as much of a cluster as a rule sees.
type State struct {
	Free    []int64 // of each node
	Waiting []*Job  // in the order in which they came
	Running []Placed
	// Estimate is how long a job is expected to run from its start.
	Estimate func(*Job) time.Duration
}

// Placed is a job with places.
type Placed struct {
	Job   *Job
	On    []int // a node for each pod
	Since time.Duration
}

// never is how long jobs run that nothing is known of: as in Slurm, a year.
const never = 365 * 24 * time.Hour

// fit returns places for a job, on the first nodes with room, and false if it has none.
func fit(j *Job, free []int64) (on []int, fits bool) {
	for node, room := range free {
		for ; room >= j.Size && len(on) < j.Pods; room -= j.Size {
			on = append(on, node)
		}
	}
	return on, len(on) == j.Pods
}

// take changes the room of nodes by a job.
func take(p *Placed, free []int64, by int64) {
	for _, node := range p.On {
		free[node] -= by * p.Job.Size
	}
}

// ends returns the jobs that run, the first one to end by what is expected first, and when. One that is late is given ten seconds, and
// twice as long each time that these are over, as by muster: Tsafrir, Etsion and Feitelson (2007) correct predictions step by step, too.
func (s *State) ends(now time.Duration) (running []Placed, at []time.Duration) {
	running = slices.Clone(s.Running)
	end := func(p *Placed) time.Duration {
		due := p.Since + s.Estimate(p.Job)
		for at, more := due, 10*time.Second; ; at, more = due+more, 2*more {
			if at > now {
				return at
			}
		}
	}
	slices.SortStableFunc(running, func(a, b Placed) int { return cmp.Compare(end(&a), end(&b)) })
	for i := range running {
		at = append(at, end(&running[i]))
	}
	return running, at
}

// start has a job start now, if there is room.
func (s *State) start(now time.Duration, j *Job) (Placed, bool) {
	on, fits := fit(j, s.Free)
	p := Placed{j, on, now}
	if fits {
		take(&p, s.Free, 1)
		s.Running = append(s.Running, p)
	}
	return p, fits
}

// FCFS is first come, first served.
type FCFS struct{}

// Start implements [Rule].
func (FCFS) Start(now time.Duration, s *State) (started []Placed) {
	for _, j := range s.Waiting {
		p, fits := s.start(now, j)
		if !fits {
			break
		}
		started = append(started, p)
	}
	return started
}

// Greedy starts each job that has room.
type Greedy struct{}

// Start implements [Rule].
func (Greedy) Start(now time.Duration, s *State) (started []Placed) {
	for _, j := range s.Waiting {
		if p, fits := s.start(now, j); fits {
			started = append(started, p)
		}
	}
	return started
}

// EASY promises a time to the first job.
type EASY struct{}

// Start implements [Rule].
func (EASY) Start(now time.Duration, s *State) []Placed {
	started := FCFS{}.Start(now, s)
	if len(started) == len(s.Waiting) {
		return started
	}
	first, others := s.Waiting[len(started)], s.Waiting[len(started)+1:]
	then, at, known := s.shadow(now, first)
	for _, j := range others {
		on, fits := fit(j, s.Free)
		if !fits {
			continue
		}
		p := Placed{j, on, now}
		if known && now+s.Estimate(j) > at {
			take(&p, then, 1)
			if _, still := fit(first, then); !still {
				take(&p, then, -1)
				continue
			}
		}
		take(&p, s.Free, 1)
		started = append(started, p)
	}
	return started
}

// shadow returns when a job has room, and how much room there is then.
func (s *State) shadow(now time.Duration, j *Job) (then []int64, at time.Duration, known bool) {
	then = slices.Clone(s.Free)
	running, ends := s.ends(now)
	for i := range running {
		take(&running[i], then, -1)
		if _, fits := fit(j, then); fits && (i+1 == len(ends) || ends[i+1] > ends[i]) {
			return then, ends[i], true
		}
	}
	return then, 0, false
}

// Conservative promises a time to each job.
type Conservative struct{}

// Start implements [Rule].
func (Conservative) Start(now time.Duration, s *State) (started []Placed) {
	plan := newProfile(now, s)
	for _, j := range s.Waiting {
		at, on, known := plan.earliest(j, s.Estimate(j))
		if !known {
			continue
		}
		p := Placed{j, on, at}
		plan.take(&p, at+s.Estimate(j))
		if at == now {
			take(&p, s.Free, 1)
			started = append(started, p)
		}
	}
	return started
}

// profile is the room of nodes in time: from each moment until the next one.
type profile struct {
	at   []time.Duration
	free [][]int64
}

func newProfile(now time.Duration, s *State) *profile {
	p := &profile{at: []time.Duration{now}, free: [][]int64{slices.Clone(s.Free)}}
	running, ends := s.ends(now)
	for i := range running {
		last := len(p.at) - 1
		if ends[i] > p.at[last] {
			p.at, p.free = append(p.at, ends[i]), append(p.free, slices.Clone(p.free[last]))
			last++
		}
		take(&running[i], p.free[last], -1)
	}
	return p
}

// earliest returns the first moment from which a job has room for as long as it runs.
func (p *profile) earliest(j *Job, runs time.Duration) (at time.Duration, on []int, known bool) {
	for from := range p.at {
		least := slices.Clone(p.free[from])
		for next := from + 1; next < len(p.at) && p.at[next] < p.at[from]+runs; next++ {
			for node, room := range p.free[next] {
				least[node] = min(least[node], room)
			}
		}
		if on, fits := fit(j, least); fits {
			return p.at[from], on, true
		}
	}
	return 0, nil, false
}

// take takes room for a job from its start until a moment.
func (p *profile) take(j *Placed, until time.Duration) {
	if at, there := slices.BinarySearch(p.at, until); !there {
		p.at, p.free = slices.Insert(p.at, at, until), slices.Insert(p.free, at, slices.Clone(p.free[at-1]))
	}
	for i, at := range p.at {
		if at >= j.Since && at < until {
			take(j, p.free[i], 1)
		}
	}
}
