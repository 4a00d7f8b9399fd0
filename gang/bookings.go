package gang

import (
	"sync/atomic"

	"muster.dev/muster/gang/membership"
	"muster.dev/muster/gang/status"
)

// bookings is what people are told of room in time: of the groups about which there is something to be told, nil while that is not known.
type bookings struct {
	now   atomic.Pointer[map[membership.Key]status.Booking]
	shown map[membership.Key]status.Booking // when it was last looked for changes, which one goroutine does
}

// Book has people told of room in time for some groups, which nobody may change any more, and nothing of it for others; for nil what they
// were told stands. It returns at once.
func (p *Publisher) Book(of map[membership.Key]status.Booking) { p.bookings.now.Store(&of) }

// of returns what is told of a group, nil while that is not known.
func (b *bookings) of(key membership.Key) *status.Booking {
	now := b.now.Load()
	if now == nil || *now == nil {
		return nil
	}
	booking := (*now)[key]
	return &booking
}

// changed returns the groups of which something else is told than when it was last looked. It reports true for all, where that was not
// known before.
func (b *bookings) changed() (keys []membership.Key, all bool) {
	loaded := b.now.Load()
	if loaded == nil {
		return nil, false
	}
	now, before := *loaded, b.shown
	b.shown = now
	if now == nil || before == nil {
		return nil, now != nil
	}
	for key, booking := range now {
		if before[key] != booking {
			keys = append(keys, key)
		}
	}
	for key := range before {
		if _, is := now[key]; !is {
			keys = append(keys, key)
		}
	}
	return keys, false
}
