package gangfaults

import (
	"slices"
	"sync"
	"time"

	"muster.dev/muster/e2e/faultcampaign"
)

// upsets are when processes were disturbed: what muster had decided by then may have come to nothing, or is
// forgotten. Its methods are safe for concurrent use.
type upsets struct {
	mu    sync.Mutex
	at    []time.Time
	spans []span
}

// span is some time. It lasts while its end is zero.
type span struct{ from, to time.Time }

// begin notes that a fault begins, if it is such a one, and end that it is over.
func (u *upsets) begin(f faultcampaign.Fault) (end func()) {
	switch f {
	case schedulerKilled, musterKilled, musterKilledAt, musterFrozen, overtaken, watchHeldBack, apiServerSlow:
	default:
		return func() {}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now()
	u.at = append(u.at, now)
	u.spans = append(u.spans, span{from: now})
	this := len(u.spans) - 1
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		now := time.Now()
		u.at = append(u.at, now)
		if f != apiServerSlow { // that lasts until all is calm
			u.spans[this].to = now
		}
	}
}

// calm ends what lasts.
func (u *upsets) calm() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for i := range u.spans {
		if u.spans[i].to.IsZero() {
			u.spans[i].to = time.Now()
		}
	}
}

// touch says that a process was disturbed some time in a span.
func (u *upsets) touch(s span) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.ContainsFunc(u.spans, func(o span) bool { return !o.from.After(s.to) && (o.to.IsZero() || !o.to.Before(s.from)) })
}

// during returns when something was upset in a run. Its end is among these if calls could be spoiled at any time.
func (u *upsets) during(t faultcampaign.Trouble, end time.Time) []time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	at := slices.Clone(u.at)
	if len(t.Odds) > 0 {
		at = append(at, end)
	}
	for _, kept := range t.First {
		if kept.Fault == callTooLate {
			at = append(at, end)
		}
	}
	return at
}
