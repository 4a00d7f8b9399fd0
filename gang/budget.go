package gang

import (
	"time"

	"k8s.io/utils/clock"
)

// budget bounds how long places may be sought, and the lock of a Manager be held for that. All searches on
// account of one event share it. When time was up, later events have twice the time, up to a limit: otherwise a
// process that gets little of its core would never find a place for a large gang.
type budget struct {
	clock      clock.PassiveClock
	time, most time.Duration
	until      time.Time // for the present event, zero before its first search
	short      bool      // time was up
}

func newBudget(c clock.PassiveClock, limits Limits) *budget {
	return &budget{clock: c, time: limits.PlanTime, most: max(limits.PlanTime, limits.MaxPlanTime)}
}

// renew begins another event.
func (b *budget) renew() {
	b.until = time.Time{}
	if b.short {
		b.time, b.short = min(2*b.time, b.most), false
	}
}

// deadline returns when the searches of the present event have to end.
func (b *budget) deadline() time.Time {
	if b.until.IsZero() {
		b.until = b.clock.Now().Add(b.time)
	}
	return b.until
}
