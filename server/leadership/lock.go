package leadership

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// lock is the lease as the elector sees it. It tells the fence of each renewal when that began, and
// holds the elector to what the fence says. As that, it is for one goroutine.
type lock struct {
	resourcelock.Interface
	fence       *Fence
	duration    time.Duration // after which the lease of one who is silent may be taken
	seat        *seat
	eligibility *Eligibility // nil for always

	seen    resourcelock.LeaderElectionRecord // what the lease said last
	raw     []byte
	changed time.Time // when it was first seen to say that
}

// Get implements [resourcelock.Interface]. A leader that sees that another one has the lease has lost it.
func (l *lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	if err := l.closed(); err != nil {
		return nil, nil, err
	}
	record, raw, err := l.Interface.Get(ctx)
	if err != nil {
		return nil, nil, err
	}
	if !bytes.Equal(raw, l.raw) {
		l.seen, l.raw, l.changed = *record, raw, l.fence.clock.Now()
	}
	if record.HolderIdentity != l.Identity() && l.fence.renewed.Load() != nil {
		l.fence.shut(heldBy(record.HolderIdentity))
	}
	return l.known(record), raw, l.closed()
}

// known is a record without its holder, where that is known to be gone, or has been silent for too long.
func (l *lock) known(record *resourcelock.LeaderElectionRecord) *resourcelock.LeaderElectionRecord {
	if record.HolderIdentity == l.Identity() {
		return record
	}
	if left, gone := l.seat.left(record.HolderIdentity); (!gone || left > 0) && !l.silent(record) {
		return record
	}
	free := *record
	free.HolderIdentity = ""
	return &free
}

// silent reports whether a record has not changed for too long. The elector would begin to count when it begins to run, and a
// process that stood by has counted before.
func (l *lock) silent(record *resourcelock.LeaderElectionRecord) bool {
	lasts := max(l.duration, time.Duration(record.LeaseDurationSeconds)*time.Second)
	return l.eligibility != nil && l.fence.clock.Since(l.changed) >= lasts
}

// Create implements [resourcelock.Interface]. A lease that was deleted is not taken as long as the
// one who held it may go on: that one does not know, and nobody else may act meanwhile.
func (l *lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if holder := l.seen.HolderIdentity; holder != "" && holder != l.Identity() {
		left := time.Duration(l.seen.LeaseDurationSeconds)*time.Second - l.fence.clock.Since(l.changed)
		if left > 0 {
			return fmt.Errorf("the lease was deleted, and %q may act for another %s", holder, left.Round(time.Millisecond))
		}
	}
	return l.write(func() error { return l.Interface.Create(ctx, record) })
}

// Update implements [resourcelock.Interface]. With no holder it gives the lease back. Only a holder
// that has resigned may do so: the elector asks for it whenever it ends, and would take the lease
// from its present holder.
func (l *lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if record.HolderIdentity != "" {
		return l.write(func() error { return l.Interface.Update(ctx, record) })
	}
	if why := context.Cause(l.fence.over); !errors.Is(why, ErrResigned) || l.seen.HolderIdentity != l.Identity() {
		return fmt.Errorf("the lease is not given back, it is held by %q: %w", l.seen.HolderIdentity, why)
	}
	return l.Interface.Update(ctx, record)
}

// write takes or renews the lease, and tells the fence when it succeeds.
func (l *lock) write(do func() error) error {
	if err := context.Cause(l.fence.over); err != nil {
		return err
	}
	if l.eligibility != nil && l.fence.renewed.Load() == nil && !l.eligibility.Eligible() {
		return ErrStandingBy
	}
	began := l.fence.now()
	err := do()
	if err == nil {
		err = l.fence.renew(began)
	}
	result := resultOK
	if err != nil {
		result = resultError
	}
	l.fence.metrics.writes.WithLabelValues(result).Observe(l.fence.clock.Since(began.steady).Seconds())
	return err
}

// closed is why the lease is of no use any more, nil while it is. One who has resigned gives it back.
func (l *lock) closed() error {
	if why := context.Cause(l.fence.over); !errors.Is(why, ErrResigned) {
		return why
	}
	return nil
}
