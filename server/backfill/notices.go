package backfill

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/gang/membership"
	"muster.dev/muster/gang/status"
)

// notices decide what people are told of bookings, and when. A gang that gets, loses or moves its booking by more than a minute has that
// told at once, unless it was told of half a minute ago. They are not safe for concurrent use.
type notices struct {
	of      map[membership.Key]*notice
	unasked bool // nobody was told yet
}

// notice has the next news of a gang, and the last ones that were told.
type notice struct {
	next, told news
	at         time.Time // when told was
}

// news are the words about a gang at one moment, the zero value for none.
type news struct {
	status.Booking
	from time.Time // of a booking
}

const (
	// mostNotices is of how many gangs people are told that room cannot be booked for them.
	mostNotices = 1000
	// leastApart is how long a gang has no second notice, and fewApart how long none in other words alone.
	leastApart, fewApart = 30 * time.Second, 10 * time.Minute
	// moves is by how much a booking has moved that is told of again.
	moves = time.Minute
)

func newNotices() notices { return notices{of: map[membership.Key]*notice{}, unasked: true} }

// booked notes that room is booked for a gang.
func (n *notices) booked(key membership.Key, from time.Time, words string) {
	n.note(key, news{status.Booking{Reason: status.RoomBooked, Words: words}, from})
}

// not notes why no room is booked for a gang.
func (n *notices) not(key membership.Key, why string) {
	n.note(key, news{Booking: status.Booking{Reason: status.NoRoomBooked, Words: "no room is booked, as " + why}})
}

func (n *notices) note(key membership.Key, next news) {
	of := n.of[key]
	if of == nil {
		if next.Reason != status.RoomBooked && len(n.of) >= mostNotices {
			return
		}
		of = &notice{}
		n.of[key] = of
	}
	of.next = next
}

// keep leaves nothing to be told of gangs but some.
func (n *notices) keep(keys []membership.Key) {
	if len(n.of) == 0 {
		return
	}
	kept := sets.New(keys...)
	for key, of := range n.of {
		if !kept.Has(key) {
			of.next = news{}
		}
	}
}

// only has room be booked for no gang but one.
func (n *notices) only(key membership.Key) {
	for other, of := range n.of {
		if other != key && of.next.Reason == status.RoomBooked {
			of.next = news{}
		}
	}
}

// due has all be told whose time has come. It reports whether there is any, as there is the first time.
func (n *notices) due(now time.Time) (some bool) {
	some, n.unasked = n.unasked, false
	for _, of := range n.of {
		if of.next.differs(&of.told, now.Sub(of.at)) {
			of.told, of.at, some = of.next, now, true
		}
	}
	maps.DeleteFunc(n.of, func(_ membership.Key, of *notice) bool {
		return of.next == news{} && of.told == news{} && now.Sub(of.at) >= leastApart
	})
	return some
}

// differs reports whether news are to be told when others were told some time ago.
func (n *news) differs(told *news, ago time.Duration) bool {
	switch {
	case *n == *told || ago < leastApart:
		return false
	case n.Reason != told.Reason || n.from.Sub(told.from).Abs() > moves:
		return true
	}
	return n.Words != told.Words && ago >= fewApart
}

// all returns what was told of each gang.
func (n *notices) all() map[membership.Key]status.Booking {
	all := map[membership.Key]status.Booking{}
	for key, of := range n.of {
		if of.told.Reason != status.None {
			all[key] = of.told.Booking
		}
	}
	return all
}
