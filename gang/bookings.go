package gang

import (
	"sync/atomic"

	"muster.dev/muster/gang/membership"
	"muster.dev/muster/gang/status"
)

// bookings has the words about room in time for the groups about which there are any, nil while they are not known.
type bookings struct {
	now   atomic.Pointer[map[membership.Key]status.Booking]
	shown map[membership.Key]status.Booking // when it was last looked for changes, which one goroutine does
}

// Book has people told of room in time for some groups, which nobody may change any more, and nothing of it for others; for nil what they
// were told stands. It returns at once.
func (p *Publisher) Book(of map[membership.Key]status.Booking) { p.bookings.now.Store(&of) }

// of returns the words about a group, nil while they are not known.
func (b *bookings) of(key membership.Key) *status.Booking {
	now := b.now.Load()
	if now == nil || *now == nil {
		return nil
	}
	booking := (*now)[key]
	return &booking
}

// changed returns the groups with other words than at the last look. It reports true for all, where nothing was known before.
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

// roomInTime returns what is told of room in time: to the owners, or to a member where there is no other object that could say it.
func roomInTime(o *status.Observation) (all []status.Event) {
	reason, words := o.SayRoom()
	if reason == status.None {
		return nil
	}
	for _, owner := range o.Owners {
		all = append(all, status.Event{About: owner, Reason: reason, Words: words})
	}
	if len(all) == 0 && o.PodGroup == nil && o.Member != nil {
		all = append(all, status.Event{About: o.Member, Reason: reason, Words: words})
	}
	return all
}
