package backfill_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/gang/membership"
	"muster.dev/muster/gang/status"
	"muster.dev/muster/server/simulation"
)

// telling collects what people are told of a gang, each change once.
type telling struct {
	all  []status.Booking
	at   []time.Time
	asks int // how often anything was told
}

func (l *telling) tell(of map[membership.Key]status.Booking) {
	l.asks++
	var now status.Booking
	for key, booking := range of {
		if key.Name == "g" {
			now = booking
		}
	}
	if len(l.all) == 0 && now == (status.Booking{}) || len(l.all) > 0 && l.all[len(l.all)-1] == now {
		return
	}
	l.all, l.at = append(l.all, now), append(l.at, time.Now())
}

func (l *telling) last() status.Booking {
	if len(l.all) == 0 {
		return status.Booking{}
	}
	return l.all[len(l.all)-1]
}

// runTelling runs a test that sees what is told.
func runTelling(t *testing.T, after time.Duration, test func(*world, *telling)) {
	t.Helper()
	told := &telling{}
	runBy(t, simulation.Options{Config: reserving(after, nil), Tell: told.tell}, func(w *world) { test(w, told) })
}

func TestAGangIsToldFromWhenRoomIsBookedUntilItStarts(t *testing.T) {
	runTelling(t, 10*time.Second, func(w *world, told *telling) {
		w.Nodes(4, 2)
		for i := range 6 {
			w.Queue(simulation.Pod(fmt.Sprint("first-", i), 5*time.Minute, func(p *corev1.Pod) {
				if i%2 == 0 {
					p.Namespace = "secret"
				}
			}))
		}
		w.Pass(1, func(int) {}, func(*corev1.Pod) time.Duration { return 5 * time.Minute })
		w.gangOf("g", 4)
		w.Pass(5, func(int) {}, forLong("g"))
		if len(told.all) > 0 {
			t.Errorf("before its time it is told %v", told.all)
		}
		w.Pass(10, func(int) {}, forLong("g"))
		from := w.Booker.Booked().From.UTC().Format("15:04 MST")
		first := told.last()
		if first.Reason != status.RoomBooked || !strings.HasPrefix(first.Words, "room is booked from about "+from+", when ") {
			t.Errorf("it is told %+v, and room is booked from %s", first, from)
		}
		if strings.Contains(first.Words, "secret") || strings.Contains(first.Words, "first-0") || strings.Contains(first.Words, "first-2") ||
			strings.Contains(first.Words, "first-4") || !strings.Contains(first.Words, "first-") || !strings.HasSuffix(first.Words, " more") {
			t.Errorf("it is told %q: other pods than of its namespace are to be counted alone", first.Words)
		}
		w.Pass(240, func(int) {}, forLong("g"))
		if len(told.all) != 1 {
			t.Errorf("while the booking stays it is told %v", told.all)
		}
		w.Pass(100, func(int) {}, forLong("g"))
		if w.started("g") != 4 || told.last() != (status.Booking{}) {
			t.Errorf("%d have started, and it is told %v", w.started("g"), told.last())
		}
	})
}

func TestAGangIsToldWhyItCanHaveNoBooking(t *testing.T) {
	for name, test := range map[string]struct {
		members int
		runs    time.Duration // that the others say
		want    string
	}{
		"too large": {8, time.Hour, "no room is booked, as it asks for more than half of the cpu that all nodes have together"},
		"unknown ends": {
			4, 0, "no room is booked, as the ends of 6 of 6 pods that run are unknown, and there is no room once the others have ended",
		},
	} {
		t.Run(name, func(t *testing.T) {
			runTelling(t, 10*time.Second, func(w *world, told *telling) {
				w.Nodes(4, 2)
				for i := range 6 {
					w.Queue(simulation.Pod(fmt.Sprint("first-", i), test.runs))
				}
				w.Pass(1, func(int) {}, func(*corev1.Pod) time.Duration { return time.Hour })
				w.gangOf("g", test.members)
				w.Pass(15, func(int) {}, forLong("g"))
				if got := told.last(); got != (status.Booking{Reason: status.NoRoomBooked, Words: test.want}) {
					t.Errorf("it is told %+v, want %q", got, test.want)
				}
				text := w.when(types.NamespacedName{Namespace: "default", Name: "g"}).Gangs[0].String()
				if strings.Contains(text, "as it asks for more than half of the cpu that all nodes have together") != (name == "too large") {
					t.Errorf("muster when says %q", text)
				}
				w.Pass(600, func(int) {}, forLong("g"))
				if len(told.all) != 1 || told.asks > 3 {
					t.Errorf("in ten minutes it is told %v, by %d calls", told.all, told.asks)
				}
			})
		})
	}
}

// A busy cluster moves a booking again and again by a little.
func TestABookingThatIsMadeAgainIsToldRarely(t *testing.T) {
	runTelling(t, 10*time.Second, func(w *world, told *telling) {
		b := &busy{world: w, says: time.Minute}
		b.fill()
		b.gangOf("g", 80)
		b.Pass(300, b.come, forLong("g"))
		for i := 1; i < len(told.at); i++ {
			if apart := told.at[i].Sub(told.at[i-1]); apart < 30*time.Second {
				t.Errorf("it is told %v after %s", told.all[i], apart)
			}
		}
		if len(told.all) < 2 || len(told.all) > 4 {
			t.Errorf("it is told %v", told.all)
		}
	})
}

// Room that is booked by a configuration which is not in force any more is nobody's.
func TestNothingIsToldWhereNoRoomIsBooked(t *testing.T) {
	runTelling(t, 0, func(w *world, told *telling) {
		w.half()
		w.gangOf("g", 4)
		w.Pass(100, func(int) {}, forLong("g"))
		if told.asks != 2 || len(told.all) > 0 { // that it is not known, and then that there is nothing
			t.Errorf("it is told %v by %d calls", told.all, told.asks)
		}
	})
}
