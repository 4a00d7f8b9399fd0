package backfill

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/gang/membership"
	"muster.dev/muster/gang/status"
)

func keyNamed(name string) membership.Key {
	return membership.Key{NamespacedName: types.NamespacedName{Namespace: "default", Name: name}}
}

func TestANoticeIsGivenWhenItIsNewAndRarely(t *testing.T) {
	began := time.Unix(1_700_000_000, 0)
	key := keyNamed("g")
	n := newNotices()
	if !n.due(began) || n.due(began) {
		t.Error("that nothing is known of any gang is not told once")
	}
	for _, step := range []struct {
		at   time.Duration
		what string
		do   func()
		due  bool
		want string
	}{
		{0, "it gets a booking", func() { n.booked(key, began.Add(time.Hour), "1") }, true, "1"},
		{10 * time.Second, "it moves soon after", func() { n.booked(key, began.Add(2*time.Hour), "2") }, false, "1"},
		{29 * time.Second, "not yet", func() {}, false, "1"},
		{30 * time.Second, "half a minute after", func() {}, true, "2"},
		{90 * time.Second, "it moves by a minute", func() { n.booked(key, began.Add(2*time.Hour+time.Minute), "3") }, false, "2"},
		{91 * time.Second, "it moves by more", func() { n.booked(key, began.Add(2*time.Hour+61*time.Second), "4") }, true, "4"},
		{150 * time.Second, "it moves back", func() { n.booked(key, began.Add(time.Hour), "5") }, true, "5"},
		{200 * time.Second, "other words", func() { n.booked(key, began.Add(time.Hour), "6") }, false, "5"},
		{749 * time.Second, "not ten minutes after", func() {}, false, "5"},
		{750 * time.Second, "ten minutes after", func() {}, true, "6"},
		{760 * time.Second, "another gang has it, and then it again", func() {
			n.only(keyNamed("other"))
			n.booked(key, began.Add(time.Hour), "6")
		}, false, "6"},
		{770 * time.Second, "another gang has it", func() { n.only(keyNamed("other")) }, false, "6"},
		{780 * time.Second, "half a minute after", func() {}, true, ""},
		{790 * time.Second, "it can have none", func() { n.not(key, "7") }, false, ""},
		{810 * time.Second, "half a minute after", func() {}, true, "no room is booked, as 7"},
		{850 * time.Second, "another gang has one", func() { n.only(keyNamed("other")) }, false, "no room is booked, as 7"},
		{860 * time.Second, "it waits no more", func() { n.keep(nil) }, true, ""},
	} {
		step.do()
		if due := n.due(began.Add(step.at)); due != step.due || n.all()[key].Words != step.want {
			t.Errorf("%s, %s: due %t, and told is %q, want %t and %q", step.at, step.what, due, n.all()[key].Words, step.due, step.want)
		}
	}
	n.due(began.Add(time.Hour))
	if len(n.of) > 0 {
		t.Errorf("%d gangs without news are remembered", len(n.of))
	}
}

func TestNoticesAreOfABoundedNumberOfGangs(t *testing.T) {
	n, now := newNotices(), time.Unix(1_700_000_000, 0)
	for i := range 2 * mostNotices {
		n.not(keyNamed(fmt.Sprint(i)), "why")
	}
	n.booked(keyNamed("booked"), now, "words")
	n.due(now)
	if got := n.all(); len(got) != mostNotices+1 || got[keyNamed("booked")].Reason != status.RoomBooked {
		t.Errorf("%d gangs are told of, and the one with a booking %v", len(got), got[keyNamed("booked")])
	}
}
