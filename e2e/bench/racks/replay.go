package racks

import (
	"container/heap"
	"fmt"
	"slices"
	"time"

	"muster.dev/muster/placement/topology"
)

// rule places jobs. It belongs to one run.
type rule interface {
	// place returns nodes for all pods of a job. There is room for it: for a gang in one domain of the level within.
	place(w *world, j *job, within int) ([]topology.Share, error)
	// ended is told that a job has gone.
	ended(j *job) error
}

// run is a replay.
type run struct {
	*world
	shape   shape
	rule    rule
	now     time.Duration
	from    time.Duration // what is before is not measured
	to      time.Duration
	running endings
	waiting []*job
	result  result
	err     error
}

// ending is a job that ends.
type ending struct {
	at     time.Duration
	job    *job
	places []topology.Share
}

// endings are a heap, the first one to end at the front.
type endings []ending

func (e endings) Len() int { return len(e) }

func (e endings) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].job.id < e[j].job.id
}

func (e endings) Swap(i, j int) { e[i], e[j] = e[j], e[i] }

func (e *endings) Push(x any) { *e = append(*e, x.(ending)) } //nolint:forcetypeassert // by next and start alone

func (e *endings) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	*e = (*e)[:last]
	return x
}

// replay has jobs arrive in a cluster. A fifth of the time is not measured, while the cluster fills up.
func replay(on shape, jobs []*job, over time.Duration, by rule) (result, error) {
	r := &run{world: on.world(), shape: on, rule: by, from: over / 5, to: over}
	for _, j := range jobs {
		r.endUntil(j.arrives)
		r.advance(j.arrives)
		first := r.start(j)
		if !first {
			r.waiting = append(r.waiting, j)
		}
		if r.measured(j) && r.shape.within(j) > 0 {
			r.result.gangs++
			if first {
				r.result.whole++
			}
		}
	}
	r.endUntil(over)
	r.advance(over)
	for _, j := range r.waiting {
		if r.measured(j) {
			r.result.waited(j, over-j.arrives)
		}
	}
	r.result.left = len(r.waiting)
	r.result.over = over - r.from
	r.result.racks = float64(len(r.racks))
	r.result.capacity = float64(on.capacity())
	return r.result, r.err
}

func (r *run) measured(j *job) bool { return j.arrives >= r.from }

// advance measures until a time.
func (r *run) advance(to time.Duration) {
	if from := max(r.now, r.from); min(to, r.to) > from {
		length := float64(min(to, r.to) - from)
		r.result.free += length * float64(r.wholeRacks())
		for _, rack := range r.racks {
			r.result.busy += length * float64(rack.has-rack.free)
		}
	}
	r.now = to
}

// start places a job if there is room for it.
func (r *run) start(j *job) bool {
	within := r.shape.within(j)
	if r.err != nil || !r.fits(j, within) {
		return false
	}
	places, err := r.rule.place(r.world, j, within)
	pods := 0
	for _, share := range places {
		pods += share.Pods
	}
	if err == nil && pods != j.pods {
		err = fmt.Errorf("job %d of %d pods has places for %d, and there is room", j.id, j.pods, pods)
	}
	if r.err = err; err != nil {
		return false
	}
	r.put(j, places, 1)
	heap.Push(&r.running, ending{r.now + j.runs, j, places})
	if r.measured(j) {
		r.result.waited(j, r.now-j.arrives)
		r.result.divided(r.world, places)
	}
	return true
}

// endUntil ends jobs, and starts others that waited for the room, the first one first.
func (r *run) endUntil(to time.Duration) {
	for len(r.running) > 0 && r.running[0].at <= to && r.err == nil {
		r.advance(r.running[0].at)
		for len(r.running) > 0 && r.running[0].at == r.now && r.err == nil {
			e := heap.Pop(&r.running).(ending) //nolint:forcetypeassert // nothing else is pushed
			r.put(e.job, e.places, -1)
			r.err = r.rule.ended(e.job)
		}
		r.waiting = slices.DeleteFunc(r.waiting, r.start)
	}
}
