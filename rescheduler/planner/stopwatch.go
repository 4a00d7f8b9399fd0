package planner

import (
	"time"

	"k8s.io/utils/clock"
)

// stopwatch says how long a search has taken, and whether its time is up.
type stopwatch struct {
	clock clock.PassiveClock
	began time.Time
	end   time.Time
	late  bool // the time was up at the last look
}

func newStopwatch(c clock.PassiveClock, limit time.Duration) *stopwatch {
	now := c.Now()
	return &stopwatch{clock: c, began: now, end: now.Add(limit)}
}

// past reports whether the time to search is up.
func (w *stopwatch) past() bool {
	w.late = w.late || !w.clock.Now().Before(w.end)
	return w.late
}

// share returns when the first of several equal parts of the remaining time ends.
func (w *stopwatch) share(parts int) time.Time {
	now := w.clock.Now()
	return now.Add(w.end.Sub(now) / time.Duration(max(1, parts)))
}

// took returns how long it has been running.
func (w *stopwatch) took() time.Duration { return w.clock.Since(w.began) }
