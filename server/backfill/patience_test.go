package backfill_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/server/backfill"
	"muster.dev/muster/server/simulation"
)

// reserving is a configuration with a time for all gangs, and one for a profile.
func reserving(all time.Duration, profile *time.Duration) *config.Configuration {
	cfg := config.Default()
	cfg.Gangs.ReserveAfter.Duration = all
	if profile != nil {
		cfg.Profiles[0].ReserveAfter = &metav1.Duration{Duration: *profile}
	}
	return cfg
}

// says annotates a pod with how long its gang waits at least, "" for nothing.
func says(after string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		if after != "" {
			metav1.SetMetaDataAnnotation(&p.ObjectMeta, v1alpha1.AnnotationReserveAfter, after)
		}
	}
}

// half fills three of four nodes with pods that end in an hour.
func (w *world) half() {
	w.Helper()
	w.Nodes(4, 2)
	for i := range 6 {
		w.Queue(simulation.Pod(fmt.Sprint("first-", i), time.Hour))
	}
	w.Pass(1, func(int) {}, func(*corev1.Pod) time.Duration { return time.Hour })
}

func TestAGangWaitsAsItsProfileSaysAndNoShorterThanThat(t *testing.T) {
	const never = 0
	for name, test := range map[string]struct {
		all     time.Duration
		profile *time.Duration
		says    string
		want    time.Duration
		why     string // said of the gang before
	}{
		"by the configuration": {all: 30 * time.Second, want: 30 * time.Second, why: "none is before it has waited for 30s"},
		"longer by itself":     {all: 30 * time.Second, says: "70s", want: 70 * time.Second, why: "none is before it has waited for 1m10s"},
		"no shorter by itself": {all: 30 * time.Second, says: "1s", want: 30 * time.Second, why: "none is before it has waited for 30s"},
		"never by itself":      {all: 30 * time.Second, says: "0", want: never, why: "it asks for none by muster.dev/reserve-after"},
		"longer by its profile": {
			all: 30 * time.Second, profile: new(70 * time.Second), want: 70 * time.Second, why: "none is before it has waited for 1m10s",
		},
		"shorter by its profile": {
			all: 70 * time.Second, profile: new(30 * time.Second), want: 30 * time.Second, why: "none is before it has waited for 30s",
		},
		"by its profile alone": {profile: new(30 * time.Second), want: 30 * time.Second, why: "none is before it has waited for 30s"},
		"no shorter by itself than by its profile": {
			all: 10 * time.Second, profile: new(30 * time.Second), says: "20s", want: 30 * time.Second, why: "none is before it has waited for 30s",
		},
		"never by its profile": {
			all: 30 * time.Second, profile: new(time.Duration(0)), says: "40s", want: never,
			why: "the configuration (reserveAfter) books none for gangs of its profile",
		},
	} {
		t.Run(name, func(t *testing.T) {
			runBy(t, simulation.Options{Config: reserving(test.all, test.profile)}, func(w *world) {
				w.half()
				w.gangOf("g", 4, says(test.says))
				w.Pass(5, func(int) {}, forLong("g"))
				f := w.when(types.NamespacedName{Namespace: "default", Name: "g"}).Gangs[0]
				if f.Outcome != backfill.Later || f.NotBooked != test.why {
					t.Errorf("it is said %s: %q, want %q", f.Outcome, f.NotBooked, test.why)
				}
				got := time.Duration(never)
				for second := 5; second < 90 && got == never; second++ {
					w.Pass(1, func(int) {}, forLong("g"))
					if w.Booker.Booked().Pods > 0 {
						got = time.Duration(second) * time.Second
					}
				}
				if got < test.want-2*time.Second || got > test.want+4*time.Second {
					t.Errorf("room is booked after %s, want %s", got, test.want)
				}
			})
		})
	}
}

// A gang that asks for no booking, or waits for longer, has no turn until then, and costs no other gang its own.
func TestRoomIsBookedForTheFirstGangThatWantsIt(t *testing.T) {
	run(t, 10*time.Second, func(w *world) {
		w.half()
		w.gangOf("n", 4, says("0"), func(p *corev1.Pod) { p.Spec.Priority = new(int32(5)) })
		w.gangOf("l", 4, says("60s"))
		w.Pass(2, func(int) {}, forLong("g"))
		w.gangOf("y", 4)
		w.Pass(30, func(int) {}, forLong("g"))
		if got := w.Booker.Booked(); got.Key.Name != "y" {
			t.Errorf("after 30 s room is booked for %v, want the one gang that wants it by now", got)
		}
		w.Pass(40, func(int) {}, forLong("g"))
		if got := w.Booker.Booked(); got.Key.Name != "l" {
			t.Errorf("after 70 s room is booked for %v, want the oldest gang that wants it", got)
		}
	})
}
