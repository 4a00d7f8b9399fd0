package backfill_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/server/simulation"
)

// Four tenths of the cluster stand empty for a gang that needs five, which it has in ten hours: after an hour that is a fifth on average.
func TestAGangThatKeepsTooMuchIdleForTooLongMakesWay(t *testing.T) {
	run(t, time.Minute, func(w *world) {
		const step = 20 * time.Second
		long := func(*corev1.Pod) time.Duration { return 10 * time.Hour }
		lengthy := func(over time.Duration) {
			for range over / step {
				w.Step(step, func() {}, long)
			}
		}
		w.Nodes(20, 10)
		for i := range 120 {
			w.Queue(simulation.Pod(fmt.Sprint("long-", i), 10*time.Hour))
		}
		w.Pass(5, func(int) {}, long)
		w.gangOf("g", 100)
		w.Pass(120, func(int) {}, long)
		w.Queue(simulation.Pod("other", 0)) // its end is unknown
		lengthy(50 * time.Minute)
		if w.isBound("other") {
			t.Error("it passes the gang within an hour")
		}
		lengthy(20 * time.Minute)
		if !w.isBound("other") {
			t.Error("it is kept off still after an hour")
		}
	})
}
