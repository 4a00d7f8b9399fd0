package gang

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/gang/membership"
	"muster.dev/muster/gang/status"
)

type booked = map[membership.Key]status.Booking

// changedNames returns the names of the groups that have changed.
func (p *process) changedNames() (names []string) {
	for _, key := range p.Publisher.Changed() {
		names = append(names, key.Name)
	}
	slices.Sort(names)
	return names
}

func TestGroupsAreLookedAtOnceWhenTheirRoomInTimeChanges(t *testing.T) {
	run(t, func(p *process) {
		p.set(node("a", "1"), podGroup("g", 2), podGroup("h", 2))
		p.set(objects(members("g", 2, "1"))...)
		p.after(time.Second)
		p.changedNames()
		words := status.Booking{Reason: status.RoomBooked, Words: "words"}
		for _, step := range []struct {
			name    string
			book    booked
			changed []string
			is      *status.Booking
		}{
			{"nothing is known", nil, nil, nil},
			{"one has a booking", booked{named("g"): words}, []string{"g", "h"}, &words}, // h may say what a former leader told
			{"nothing has changed", booked{named("g"): words}, nil, &words},
			{"another one has it", booked{named("h"): words}, []string{"g", "h"}, &status.Booking{}},
			{"none has", booked{}, []string{"h"}, &status.Booking{}},
			{"nothing is known again", nil, nil, nil},
			{"and again none has", booked{}, []string{"g", "h"}, &status.Booking{}},
		} {
			p.Publisher.Book(step.book)
			if diff := cmp.Diff(step.changed, p.changedNames()); diff != "" {
				t.Errorf("%s, changed (-want +got):\n%s", step.name, diff)
			}
			if o, _ := p.Publisher.Observe(named("g")); !cmp.Equal(step.is, o.Booking) {
				t.Errorf("%s: it is observed %v, want %v", step.name, o.Booking, step.is)
			}
		}
	})
}

func TestWhoSpeaksForAGangWithoutAnObjectIsToldOfRoomInTime(t *testing.T) {
	run(t, func(p *process) {
		train := job("train", 3)
		p.set(node("a", "2"), train)
		p.set(objects(members("train", 3, "1", ownedBy(train)))...)
		p.set(objects(members("alone", 3, "1", withoutObject("alone", "3")))...)
		p.after(time.Second)
		book := booked{}
		for _, key := range p.Publisher.Changed() {
			book[key] = status.Booking{Reason: status.RoomBooked, Words: "words"}
		}
		p.Publisher.Book(book)
		var got []string
		for _, key := range p.Publisher.Changed() {
			for _, event := range p.Publisher.toOwners(key) {
				if event.Reason == status.RoomBooked {
					got = append(got, event.About.GetName()+": "+event.Words)
				}
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff([]string{"alone-0: gang default/alone: words", "train: words"}, got); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
	})
}
