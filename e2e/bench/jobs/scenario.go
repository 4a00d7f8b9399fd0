package jobs

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/config"
	"muster.dev/muster/server/backfill"
	"muster.dev/muster/server/simulation"
)

// Scenario is a gang that asks for a fifth of a busy cluster: small pods that run for a minute take nine tenths, and come at random.
type Scenario struct {
	Nodes int // with ten places each
	Over  time.Duration
}

// Outcome is how a scenario went.
type Outcome struct {
	// Gang is how long after it came the gang had started, and Started how many of its members at the end.
	Gang    time.Duration
	Started int
	// Small is how many small pods have ended.
	Small int
	// Idle is the part of all places that stood empty on average because room was booked: while a small pod waited. IdleWhile is the
	// same of the time in which room was booked.
	Idle, IdleWhile float64
}

// places is how many pods a node has room for.
const places = 10

// Run runs the scenario with room in time after a wait, 0 for never. The gang comes once the cluster is busy, and runs for ten minutes.
func (s Scenario) Run(t *testing.T, after time.Duration) (o Outcome) {
	t.Helper()
	const small, large = time.Minute, 10 * time.Minute
	members := s.Nodes * places / 5
	runs := func(p *corev1.Pod) time.Duration {
		if strings.HasPrefix(p.Name, "gang-") {
			return large
		}
		return small
	}
	cfg := config.Default()
	cfg.Gangs.ReserveAfter.Duration = after
	inWorld(t, simulation.Options{Config: cfg, FirstFit: true}, func(w *simulation.World) {
		random, count := rand.New(rand.NewPCG(1, 1)), 0
		come := func(int) {
			for range poisson(random, 0.9*float64(s.Nodes*places)/small.Seconds()) {
				count++
				w.Queue(simulation.Pod(fmt.Sprint("small-", count), small))
			}
		}
		w.Nodes(s.Nodes, places)
		w.Pass(int(2*small.Seconds()), come, runs)
		w.Ended = 0
		for i := range members {
			w.Queue(simulation.Pod(fmt.Sprint("gang-", i), 0, simulation.InGang("gang", members)))
		}
		began, empty, booked := time.Now(), 0, 0
		w.Started = func(pod *corev1.Pod) {
			if strings.HasPrefix(pod.Name, "gang-") {
				o.Started, o.Gang = o.Started+1, time.Since(began)
			}
		}
		w.Pass(int(s.Over.Seconds()), func(second int) {
			if w.Booker.Booked() != (backfill.Booked{}) {
				booked++
				if waiting := len(w.Waiting()) - (members - o.Started); waiting > 0 {
					empty += min(waiting, s.Nodes*places-len(w.Running()))
				}
			}
			come(second)
		}, runs)
		o.Small = w.Ended - o.Started // the gang has ended as well
		if o.Gang+large > s.Over {
			o.Small = w.Ended
		}
		o.Idle = float64(empty) / s.Over.Seconds() / float64(s.Nodes*places)
		o.IdleWhile = float64(empty) / float64(max(booked, 1)) / float64(s.Nodes*places)
	})
	return o
}

// poisson draws how many come in a second of as many on average.
func poisson(random *rand.Rand, mean float64) (count int) {
	for left := math.Exp(-mean); ; count++ {
		if left /= random.Float64(); left >= 1 {
			return count
		}
	}
}
