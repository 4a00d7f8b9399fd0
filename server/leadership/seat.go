package leadership

import (
	"strings"
	"time"

	"k8s.io/utils/clock"
)

// inheritAfter is how long a process has its seat before it takes over from the former one: the time in which the API server is to
// do what it had received from that one. Nothing enforces it.
const inheritAfter = time.Second

// seat is held for a lease by one process of a network namespace, from its start until it is gone. It is a name that the
// kernel gives to one socket at a time, and takes back when the process has ended, however it ends. A process that was frozen
// still has its seat. So a process that has the seat knows that the one before is gone, and need not wait for the lease to run
// out. What a process was about to send when it was killed is thrown away, see [Fence.Guard].
//
// The name differs between machines, boots of one, network namespaces, hosts' names, clusters and leases. A process that lacks
// a seat, as others have it or the system knows none, waits for the lease as ever. It is for one goroutine.
type seat struct {
	name  string // "" where there are none
	clock clock.PassiveClock
	since time.Time // when this process took it; zero before
}

// newSeat takes the seat of a lease, if it is free.
func newSeat(c clock.PassiveClock, parts ...string) *seat {
	s := &seat{name: seatName(parts...), clock: c}
	s.take()
	return s
}

// take takes the seat, if it is free, and reports whether this process has it.
func (s *seat) take() bool {
	if s.since.IsZero() && s.name != "" && occupy(s.name) {
		s.since = s.clock.Now()
	}
	return !s.since.IsZero()
}

// mark is part of the identity of a process that has the seat from its start.
func (s *seat) mark() string {
	if s.since.IsZero() {
		return ""
	}
	return s.name + "_"
}

// left is how long it takes until this process may take over from a holder of the lease that had the seat before. It says false
// where the holder may be alive.
func (s *seat) left(holder string) (after time.Duration, gone bool) {
	if s.name == "" || !strings.Contains(holder, "_"+s.name+"_") || !s.take() {
		return 0, false
	}
	return max(0, inheritAfter-s.clock.Since(s.since)), true
}
