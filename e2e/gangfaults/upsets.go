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
	mu sync.Mutex
	at []time.Time
}

// add notes that a fault begins or ends, if it is such a one.
func (u *upsets) add(f faultcampaign.Fault) {
	switch f {
	case schedulerKilled, musterKilled, musterKilledAt, musterFrozen, overtaken, watchHeldBack, apiServerSlow:
		u.mu.Lock()
		defer u.mu.Unlock()
		u.at = append(u.at, time.Now())
	default:
	}
}

// during are those of a run until its end, which is one as well if calls were spoiled at any time.
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
