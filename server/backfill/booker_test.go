package backfill_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/config"
	"muster.dev/muster/server/backfill"
	"muster.dev/muster/server/simulation"
)

// world is a cluster that counts the pods that it makes up.
type world struct {
	*testing.T
	*simulation.World
	count int
}

// run runs a test for a Booker that books room after a time, 0 for ever.
func run(t *testing.T, after time.Duration, test func(w *world)) {
	t.Helper()
	cfg := config.Default()
	cfg.Gangs.ReserveAfter.Duration = after
	runBy(t, simulation.Options{Config: cfg}, test)
}

// runBy runs a test by options.
func runBy(t *testing.T, options simulation.Options, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		options.FirstFit = true
		w, err := simulation.New(options)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			w.Close()
			if err := w.Err(); err != nil {
				t.Error(err)
			}
		}()
		test(&world{T: t, World: w})
	})
}

// isBound reports whether a pod has a node.
func (w *world) isBound(name string) bool { return slices.Contains(w.Running(), name) }

// busy is a cluster of 20 nodes with ten places each. Small pods that run for a minute take nine tenths of them, and enough others wait
// at all times to take each place that falls free.
type busy struct {
	*world
	says time.Duration
}

func (b *busy) come(int) {
	small := 0
	for _, p := range b.Waiting() {
		if p.Name[:2] == "sm" {
			small++
		}
	}
	for range 20 - small {
		b.count++
		b.Queue(simulation.Pod(fmt.Sprint("small-", b.count), b.says))
	}
}

// fill starts the small pods, evenly over a minute.
func (b *busy) fill() {
	b.Helper()
	b.Nodes(20, 10)
	b.Pass(60, func(int) {
		for range 3 {
			b.count++
			b.Queue(simulation.Pod(fmt.Sprint("small-", b.count), b.says))
		}
	}, minute)
}

// when is the forecast for the gangs of a name.
func (w *world) when(name types.NamespacedName) *backfill.Forecasts {
	w.Helper()
	forecasts, free := w.Booker.When(name)
	if !free {
		w.Fatal("another forecast is being made")
	}
	return forecasts
}

func minute(*corev1.Pod) time.Duration { return time.Minute }

// started counts the members of a gang that are bound.
func (w *world) started(gang string) (count int) {
	for _, name := range w.Running() {
		var of string
		var index int
		if n, _ := fmt.Sscanf(name, "%1s-%d", &of, &index); n == 2 && of == gang {
			count++
		}
	}
	return count
}

// gangOf queues a gang of a name of one letter.
func (w *world) gangOf(name string, size int, change ...func(*corev1.Pod)) {
	w.Helper()
	for i := range size {
		w.Queue(simulation.Pod(fmt.Sprint(name, "-", i), 0, append(change, simulation.InGang(name, size))...))
	}
}

func forLong(of string) func(*corev1.Pod) time.Duration {
	return func(p *corev1.Pod) time.Duration {
		if p.Name[:2] == of+"-" {
			return 10 * time.Hour
		}
		return time.Minute
	}
}

func TestALargeGangStartsOnABusyClusterOnceRoomIsBookedForIt(t *testing.T) {
	ended := map[bool]int{}
	for _, books := range []bool{true, false} {
		after := time.Duration(0)
		if books {
			after = 30 * time.Second
		}
		run(t, after, func(w *world) {
			b := &busy{world: w, says: time.Minute}
			b.fill()
			b.gangOf("g", 80)
			w.Ended = 0
			b.Pass(90, b.come, forLong("g"))
			if started := b.started("g"); books != (started == 80) {
				t.Errorf("with bookings %t, %d of 80 members are bound after 90 s", books, started)
			}
			if got := w.Booker.Booked(); got.Pods != 0 {
				t.Errorf("room is booked for %v still", got)
			}
			ended[books] = w.Ended
			b.Pass(300, b.come, forLong("g"))
			if started := b.started("g"); !books && started > 0 {
				t.Errorf("without bookings, %d members are bound after 390 s: the test shows nothing", started)
			}
		})
	}
	t.Logf("%d small pods ended with a booking, %d without one", ended[true], ended[false])
	if ended[true]*10 < ended[false]*7 {
		t.Errorf("%d small pods ended with a booking, %d without one", ended[true], ended[false])
	}
}

func TestShortPodsPassABookingAndOthersDoNot(t *testing.T) {
	run(t, 30*time.Second, func(w *world) {
		w.Nodes(2, 2)
		w.Queue(simulation.Pod("long", 5*time.Minute))
		none := func(int) {}
		w.Pass(1, none, func(*corev1.Pod) time.Duration { return 5 * time.Minute })
		w.gangOf("g", 4) // all of the cluster is more than may be booked
		w.Pass(60, none, forLong("g"))
		if got := w.Booker.Booked(); got.Pods != 0 {
			t.Fatalf("room is booked for all of the cluster: %v", got)
		}
	})
	run(t, 30*time.Second, func(w *world) {
		w.Nodes(4, 2)
		for i := range 5 {
			w.Queue(simulation.Pod(fmt.Sprint("first-", i), 5*time.Minute))
		}
		none := func(int) {}
		w.Pass(1, none, func(*corev1.Pod) time.Duration { return 5 * time.Minute })
		w.gangOf("g", 4)
		w.Pass(60, none, forLong("g"))
		booked := w.Booker.Booked()
		if left := time.Until(booked.From); booked.Pods != 4 || left < 235*time.Second || left > 245*time.Second {
			t.Fatalf("room is booked for %d pods in %s, want 4 in about 240 s", booked.Pods, left)
		}
		if idle := w.idle(); idle < 3*25 || idle > 3*30 {
			t.Errorf("room for pods stood empty for %g s, want about 29 s for three of them", idle)
		}
		w.Queue(
			simulation.Pod("beside", 10*time.Minute), simulation.Pod("unknown", 0), simulation.Pod("too-long", 10*time.Minute),
			simulation.Pod("short", time.Minute),
		)
		w.Pass(1, none, minute)
		w.Queue(simulation.Pod("important", 0, func(p *corev1.Pod) { p.Spec.Priority = new(int32(10)) }))
		w.Pass(1, none, minute)
		bound := []string{}
		for _, name := range []string{"beside", "unknown", "too-long", "short", "important"} {
			if w.isBound(name) {
				bound = append(bound, name)
			}
		}
		if want := []string{"beside", "short", "important"}; !slices.Equal(bound, want) {
			t.Errorf("%v are bound, want %v", bound, want)
		}
	})
}

// A pod that asks for what the gang does not need passes at once.
func TestABookingBindsNobodyWhoNeedsAnotherResource(t *testing.T) {
	gpu := func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Requests["example.com/gpu"] = resource.MustParse("1")
		p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"example.com/gpu": resource.MustParse("1")}
	}
	run(t, 10*time.Second, func(w *world) {
		w.Nodes(4, 8, "example.com/gpu")
		for i := range 2 {
			w.Queue(simulation.Pod(fmt.Sprint("first-", i), 5*time.Minute, gpu))
		}
		none := func(int) {}
		w.Pass(1, none, func(*corev1.Pod) time.Duration { return 5 * time.Minute })
		w.Queue(simulation.Pod("unknown", 0, gpu))
		w.Pass(1, none, func(*corev1.Pod) time.Duration { return time.Hour })
		w.gangOf("g", 2, gpu)
		w.Pass(20, none, forLong("g"))
		if got := w.Booker.Booked(); got.Pods != 2 {
			t.Fatalf("room is booked for %d pods, want 2", got.Pods)
		}
		for i := range 20 {
			w.Queue(simulation.Pod(fmt.Sprint("cpu-", i), 0))
		}
		w.Queue(simulation.Pod("late", 0, gpu))
		w.Pass(1, none, minute)
		for _, p := range w.Waiting() {
			if p.Name[:2] != "g-" && p.Name != "late" {
				t.Errorf("%s waits, though the gang needs none of its room", p.Name)
			}
		}
		if w.isBound("late") {
			t.Errorf("a pod whose end is unknown takes a GPU that is booked")
		}
	})
}

func TestAForecastSaysWhenAGangStartsAndIsKept(t *testing.T) {
	none := func(int) {}
	run(t, 10*time.Second, func(w *world) {
		w.Nodes(4, 2)
		for i := range 6 {
			w.Queue(simulation.Pod(fmt.Sprint("first-", i), 2*time.Minute))
		}
		w.Pass(1, none, func(*corev1.Pod) time.Duration { return 2 * time.Minute })
		name := types.NamespacedName{Namespace: "default", Name: "g"}
		if got := w.when(name); len(got.Gangs) != 0 {
			t.Errorf("of no gang it is said %v", got)
		}
		w.gangOf("g", 4)
		w.Pass(5, none, forLong("g"))
		if f := w.when(name).Gangs[0]; f.Outcome != backfill.Later || f.Booked {
			t.Errorf("after 5 s it is said %+v, and nothing is to be booked yet", f)
		}
		w.Pass(15, none, forLong("g"))
		f := w.when(name).Gangs[0]
		if f.Outcome != backfill.Later || !f.Booked || f.Ends < 2 || f.InSeconds < 98 || f.InSeconds > 102 {
			t.Errorf("after 20 s it is said %+v, want about 100 s", f)
		}
		w.Pass(int(f.InSeconds)-5, none, forLong("g"))
		if got := w.started("g"); got != 0 {
			t.Errorf("%d members have started five seconds before", got)
		}
		w.Pass(10, none, forLong("g"))
		if got := w.started("g"); got != 4 {
			t.Errorf("%d members have started five seconds after, want 4", got)
		}
		if got := w.when(name).Gangs[0].Outcome; got != backfill.Goes {
			t.Errorf("when it has started it is said %s", got)
		}
	})
	run(t, 10*time.Second, func(w *world) {
		w.Nodes(2, 2)
		w.Queue(simulation.Pod("unknown-1", 0), simulation.Pod("unknown-2", 0), simulation.Pod("known", time.Minute))
		w.Pass(1, none, func(*corev1.Pod) time.Duration { return time.Hour })
		w.gangOf("g", 3)
		w.Pass(20, none, forLong("g"))
		got := w.when(types.NamespacedName{Namespace: "default", Name: "g"})
		want := "default/g: no promise, as the ends of 2 of 3 pods that run are unknown, and there is no room after the others: "
		if text := got.Gangs[0].String(); got.Promises() || !strings.HasPrefix(text, want) {
			t.Errorf("it is said %q, want %q", text, want)
		}
	})
}

func TestRoomIsBookedForTheGangOfTheHighestPriority(t *testing.T) {
	run(t, 10*time.Second, func(w *world) {
		w.Nodes(4, 2)
		for i := range 6 {
			w.Queue(simulation.Pod(fmt.Sprint("first-", i), 2*time.Minute, func(p *corev1.Pod) { p.Spec.Priority = new(int32(9)) }))
		}
		none := func(int) {}
		w.Pass(1, none, func(*corev1.Pod) time.Duration { return 2 * time.Minute })
		w.gangOf("o", 4)
		w.Pass(15, none, forLong("o"))
		if got := w.Booker.Booked(); got.Key.Name != "o" {
			t.Fatalf("room is booked for %v, want the one gang that there is", got)
		}
		w.gangOf("h", 3, func(p *corev1.Pod) { p.Spec.Priority = new(int32(5)) })
		w.gangOf("y", 3)
		w.Pass(15, none, forLong("o"))
		if got := w.Booker.Booked(); got.Key.Name != "h" || got.Pods != 3 {
			t.Errorf("room is booked for %v, want the gang of higher priority", got)
		}
	})
}

// What is booked for one gang is no obstacle to the next one whose turn it is.
func TestAGangThatComesBeforeAnotherTakesItsBooking(t *testing.T) {
	asks := func(cpus string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse(cpus) }
	}
	run(t, 10*time.Second, func(w *world) {
		w.Nodes(4, 4)
		for i := range 4 {
			says := time.Duration(i/2) * time.Hour // two of unknown ends
			w.Queue(simulation.Pod(fmt.Sprint("first-", i), says, asks("4")))
		}
		none := func(int) {}
		w.Pass(1, none, func(*corev1.Pod) time.Duration { return time.Hour })
		w.Queue(simulation.Pod("o-0", 0, asks("4"), simulation.InGang("o", 2)))
		w.Pass(1, none, forLong("o"))
		w.gangOf("y", 4, asks("2"))
		w.Pass(15, none, forLong("o"))
		if got := w.Booker.Booked(); got.Key.Name != "y" {
			t.Fatalf("room is booked for %v, want the one gang that is complete", got)
		}
		w.Queue(simulation.Pod("o-1", 0, asks("4"), simulation.InGang("o", 2)))
		w.Pass(15, none, forLong("o"))
		if got := w.Booker.Booked(); got.Key.Name != "o" {
			t.Errorf("room is booked for %v, want the gang that has waited for longest", got)
		}
	})
}

// Gangs that can have no booking do not keep others from having one, nor does a gang that has room and does not start.
func TestGangsThatCanHaveNoBookingMakeWay(t *testing.T) {
	nowhere := func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"no": "where"} }
	run(t, 10*time.Second, func(w *world) {
		w.Nodes(4, 2)
		for i := range 6 {
			w.Queue(simulation.Pod(fmt.Sprint("first-", i), time.Hour))
		}
		none := func(int) {}
		w.Pass(1, none, func(*corev1.Pod) time.Duration { return time.Hour })
		for i := range 4 {
			w.gangOf(fmt.Sprint(i), 3, nowhere)
		}
		w.Pass(5, none, forLong("g"))
		w.gangOf("g", 3)
		w.Pass(30, none, forLong("g"))
		if got := w.Booker.Booked(); got.Key.Name != "g" {
			t.Errorf("room is booked for %v, want the one gang that has a place anywhere", got)
		}
	})
	run(t, 10*time.Second, func(w *world) {
		w.Nodes(4, 2)
		for i := range 4 { // nobody asks about them, so that they have no places though there is room
			w.Set(simulation.Pod(fmt.Sprint("g-", i), 0, simulation.InGang("g", 5)))
		}
		late := simulation.Pod("g-4", 0, simulation.InGang("g", 5))
		late.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/gate"}}
		w.Set(late)
		w.Pass(60, func(int) {}, minute)
		if got := w.Booker.Booked(); got.Pods != 0 {
			t.Errorf("room is booked for %v, which has members missing", got)
		}
	})
}

// Whose pods run for longer than they say keeps a gang waiting once, and not for ever.
func TestShortPodsThatAreLongKeepAGangWaitingNoLongerThanThat(t *testing.T) {
	run(t, 10*time.Second, func(w *world) {
		w.Nodes(4, 2)
		for i := range 5 {
			w.Queue(simulation.Pod(fmt.Sprint("first-", i), time.Minute))
		}
		none := func(int) {}
		w.Pass(1, none, minute)
		w.gangOf("g", 4)
		w.Pass(20, none, forLong("g"))
		lies := func(int) {
			if len(w.Waiting()) < 10 {
				w.count++
				w.Queue(simulation.Pod(fmt.Sprint("liar-", w.count), 5*time.Second))
			}
		}
		w.Pass(300, lies, func(p *corev1.Pod) time.Duration {
			if p.Name[:2] == "li" {
				return 2 * time.Minute
			}
			return forLong("g")(p)
		})
		if got := w.started("g"); got != 4 {
			t.Errorf("%d members have started after five minutes, want 4", got)
		}
	})
}
