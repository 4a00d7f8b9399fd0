package faultcampaign

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Look is how often it is looked whether something has come.
const Look = 50 * time.Millisecond

// Act is something that is done in a run: not before a time since it began, and some time after a
// moment has come.
type Act struct {
	At    time.Duration
	Await func(context.Context) // returns when the moment has come, or with the context
	After time.Duration
	What  string // for people
	Fault Fault  // "" for what is none
	Do    func(context.Context) error
}

// Diary lists the actions of a run. Its methods are safe for concurrent use.
type Diary struct {
	mu    sync.Mutex
	began time.Time
	log   []string
	done  map[Fault]int
}

// NewDiary has nothing in it yet.
func NewDiary() *Diary { return &Diary{began: time.Now(), done: map[Fault]int{}} }

// Note keeps what was done, for people.
func (d *Diary) Note(what string) { d.NoteAt(time.Now(), what) }

// NoteAt keeps what happened at a time.
func (d *Diary) NoteAt(at time.Time, what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.log = append(d.log, fmt.Sprintf("%6.3f %s", at.Sub(d.began).Seconds(), what))
}

// Play has acts done at their times, and returns when all are. What waits for a moment that does not
// come within the window is done at its end. The time counts from now on, which is noted with what is
// set for the run.
func (d *Diary) Play(ctx context.Context, window time.Duration, set string, acts []Act) error {
	began := time.Now()
	d.mu.Lock()
	d.began = began
	d.mu.Unlock()
	d.Note(set)
	open, cancel := context.WithTimeout(ctx, window)
	defer cancel()
	all, ctx := errgroup.WithContext(ctx)
	for _, a := range acts {
		all.Go(func() error {
			Pause(open, time.Until(began.Add(a.At)))
			a.Await(open)
			Pause(open, a.After)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			d.Note(a.What)
			if a.Fault != "" {
				d.mu.Lock()
				d.done[a.Fault]++
				d.mu.Unlock()
			}
			return a.Do(ctx)
		})
	}
	return all.Wait()
}

// Tell puts what was done into the outcome of a run, and what happened to its calls.
func (d *Diary) Tell(o *Outcome, calls *Calls) {
	o.Faults = calls.Faults()
	d.mu.Lock()
	defer d.mu.Unlock()
	for f, n := range d.done {
		o.Faults[f] += n
	}
	o.Log = slices.Sorted(slices.Values(d.log))
}

// Pause waits, or until the context ends.
func Pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
