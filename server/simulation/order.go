package simulation

import (
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
)

// Goroutines that time wakes at one moment run in any order. So that a replay is the same each time, everybody here wakes at moments of
// their own: pods end, come and are tried at multiples of grid, and the parts of muster look around some time after these.
const (
	grid        = 100 * time.Millisecond
	gangsAfter  = 30 * time.Millisecond // and as long after that they look whether places are to be sought again
	bookerAfter = 95 * time.Millisecond
	assumeTTL   = 30*time.Second + 500*time.Microsecond
)

// late is a clock whose tickers begin after a time.
type late struct {
	clock.RealClock
	by time.Duration
}

// NewTicker implements [clock.WithTicker].
func (l late) NewTicker(every time.Duration) clock.Ticker {
	<-time.After(l.by)
	return l.RealClock.NewTicker(every)
}

// binding is how long the binding of a pod takes: another time for each pod that may be bound at one moment.
func (q *queued) binding() time.Duration { return time.Duration(q.turn%20_000) * time.Microsecond }

// wait lets a time pass, up to the grid, and everybody else do what they do until then.
func (w *World) wait(long time.Duration) {
	until := time.Since(w.began) + long
	<-time.After((until + grid - 1).Truncate(grid) - time.Since(w.began))
	synctest.Wait()
}
