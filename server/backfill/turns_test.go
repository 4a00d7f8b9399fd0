package backfill_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"muster.dev/muster/server/simulation"
)

// Few of them are tried in vain again and again, and many never have all been.
func TestOlderGangsThatFitNowhereCostNoOtherGangItsBooking(t *testing.T) {
	for count, namespace := range map[int]string{20: "tenant", 60: "default", 120: "tenant"} {
		run(t, 10*time.Second, func(w *world) {
			b := &busy{world: w, says: time.Minute}
			b.fill()
			for i := range count {
				name := fmt.Sprint("hopeless-", i)
				w.Queue(simulation.Pod(name, 0, simulation.InGang(name, 1), func(p *corev1.Pod) {
					p.Namespace = namespace
					p.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("100")
				}))
			}
			b.Pass(2, b.come, forLong("g"))
			b.gangOf("g", 80)
			lost, had := 0, false
			for range 110 {
				b.Pass(1, b.come, forLong("g"))
				booked := w.Booker.Booked().Pods > 0
				if had && !booked {
					lost++
				}
				had = booked
			}
			if started := b.started("g"); lost != 1 || started != 80 { // the booking ends with the start
				t.Errorf("behind %d gangs of %s a booking is lost %d times, and %d of 80 members are bound", count, namespace, lost, started)
			}
		})
	}
}

// Few gangs are tried in one go.
func TestAGangBehindOthersThatFitNowhereIsTriedThoughNothingChanges(t *testing.T) {
	run(t, 10*time.Second, func(w *world) {
		none, long := func(int) {}, func(*corev1.Pod) time.Duration { return time.Hour }
		w.Nodes(3, 1)
		for i := range 3 {
			w.Queue(simulation.Pod(fmt.Sprint("first-", i), time.Hour))
		}
		w.Pass(1, none, long)
		for i := range 7 {
			w.gangOf(fmt.Sprint("hopeless-", i), 4)
		}
		w.Pass(1, none, long)
		w.gangOf("g", 1)
		w.Pass(20, none, long)
		if booked := w.Booker.Booked(); booked.Key.Name != "g" {
			t.Errorf("room is booked for %d pods of %q, want it for g", booked.Pods, booked.Key.Name)
		}
	})
}
