package runtimes

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Clock tells the time by which the API server stamps objects: the newest stamp that was seen, and what has passed here since. So the
// clocks of two machines are never compared. It is late by as much as the watch, and by the time without any stamp before the first look.
// It is safe for concurrent use.
type Clock struct {
	clock clock.PassiveClock

	mu     sync.Mutex
	newest time.Time
	seen   time.Time // here
}

// NewClock returns a Clock that has seen no stamp.
func NewClock(c clock.PassiveClock) *Clock { return &Clock{clock: c} }

// See takes in a stamp of the API server.
func (c *Clock) See(stamp time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if here := c.clock.Now(); stamp.After(c.now(here)) {
		c.newest, c.seen = stamp, here
	}
}

// Now returns the time of the API server, which is later than no stamp that was seen. It is zero before the first one.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now(c.clock.Now())
}

func (c *Clock) now(here time.Time) time.Time {
	if c.newest.IsZero() {
		return time.Time{}
	}
	return c.newest.Add(here.Sub(c.seen))
}

// Here returns the moment on the clock of this process that a time of the API server is.
func (c *Clock) Here(stamp time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen.Add(stamp.Sub(c.newest))
}
