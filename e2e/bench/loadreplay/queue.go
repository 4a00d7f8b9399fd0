package loadreplay

import (
	"container/heap"
	"time"

	"k8s.io/utils/clock"
)

// queue is the events of a run, in the order of their times and, at one time, of their making.
type queue struct {
	now    time.Time
	events events
	made   int
}

type event struct {
	at   time.Time
	made int
	do   func() // nil when it is called off
}

// at has something done at a time.
func (q *queue) at(at time.Time, do func()) *event {
	q.made++
	e := &event{at, q.made, do}
	heap.Push(&q.events, e)
	return e
}

func (q *queue) after(d time.Duration, do func()) *event { return q.at(q.now.Add(d), do) }

// drain does what is due until a time.
func (q *queue) drain(until time.Time) {
	for len(q.events) > 0 && q.events[0].at.Before(until) {
		e, _ := heap.Pop(&q.events).(*event)
		if q.now = e.at; e.do != nil {
			e.do()
		}
	}
	q.now = until
}

type events []*event

func (e events) Len() int      { return len(e) }
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e events) Less(i, j int) bool {
	return e[i].at.Before(e[j].at) || e[i].at.Equal(e[j].at) && e[i].made < e[j].made
}

// Push implements [heap.Interface].
func (e *events) Push(x any) { *e = append(*e, x.(*event)) } //nolint:forcetypeassert // only events are pushed

// Pop implements [heap.Interface].
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// simulated is the clock of a run, as far as a [cluster.Cluster] uses one: other methods
// panic.
type simulated struct {
	clock.WithDelayedExecution
	queue *queue
}

// Now implements [clock.PassiveClock].
func (s simulated) Now() time.Time { return s.queue.now }

// AfterFunc implements [clock.WithDelayedExecution].
func (s simulated) AfterFunc(d time.Duration, do func()) clock.Timer {
	t := &timer{queue: s.queue, do: do}
	t.Reset(d)
	return t
}

type timer struct {
	queue *queue
	do    func()
	event *event
}

// C implements [clock.Timer]: a timer of a function has none.
func (t *timer) C() <-chan time.Time { return nil }

// Stop implements [clock.Timer].
func (t *timer) Stop() bool {
	active := t.event != nil && t.event.do != nil
	if active {
		t.event.do = nil
	}
	return active
}

// Reset implements [clock.Timer].
func (t *timer) Reset(d time.Duration) bool {
	active := t.Stop()
	var mine *event
	mine = t.queue.after(d, func() {
		mine.do = nil
		t.do()
	})
	t.event = mine
	return active
}
