// Package history remembers in memory how a process fared in the last hour: a sample a minute.
package history

import (
	"context"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"

	"muster.dev/muster/cluster"
)

const (
	every = time.Minute
	kept  = 60 // samples
)

// Minute is one sample: what waits at its end, and what happened since the sample before.
type Minute struct {
	End          time.Time `json:"end"`
	PodsWaiting  int       `json:"podsWaiting"`
	GangsWaiting int       `json:"gangsWaiting"`
	PodsBound    int       `json:"podsBound"`
	Calls        int       `json:"calls"`
	FailedCalls  int       `json:"failedCalls"`
}

// Options of a Keeper. All are required.
type Options struct {
	Clock   clock.WithTicker
	Cluster *cluster.Cluster
	// GangsWaiting returns how many gangs wait.
	GangsWaiting func() int
	// Calls returns how many calls were answered so far, and how many of them failed.
	Calls func() (answered, failed int)
}

// Keeper remembers the last hour while it runs. Its methods are safe for concurrent use.
type Keeper struct {
	options Options
	minutes atomic.Pointer[[]Minute] // never changed; Run alone replaces it
}

// New returns a Keeper that remembers nothing until it is run.
func New(o Options) *Keeper { return &Keeper{options: o} }

// Minutes returns the samples of the last hour, the latest last. They must not be changed.
func (k *Keeper) Minutes() []Minute {
	if minutes := k.minutes.Load(); minutes != nil {
		return *minutes
	}
	return nil
}

// Run takes a sample at the end of each minute until the context ends.
func (k *Keeper) Run(ctx context.Context) {
	var bound atomic.Int64
	stop := k.options.Cluster.FollowGated(func(event cluster.PodEvent) {
		if event.Node != "" {
			bound.Add(1)
		}
	})
	defer stop()
	tick := k.options.Clock.NewTicker(every)
	defer tick.Stop()
	for before := k.totals(&bound); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C():
		}
		now := k.totals(&bound)
		k.keep(Minute{
			End: k.options.Clock.Now().UTC(), PodsWaiting: len(k.options.Cluster.Pending()), GangsWaiting: k.options.GangsWaiting(),
			PodsBound: now.bound - before.bound, Calls: now.answered - before.answered, FailedCalls: now.failed - before.failed,
		})
		before = now
	}
}

// totals counts what has happened since the process began.
type totals struct{ bound, answered, failed int }

func (k *Keeper) totals(bound *atomic.Int64) totals {
	answered, failed := k.options.Calls()
	return totals{int(bound.Load()), answered, failed}
}

// keep adds a minute, and drops what is older than an hour.
func (k *Keeper) keep(minute Minute) {
	var minutes []Minute
	for _, m := range k.Minutes() {
		if minute.End.Sub(m.End) < kept*every {
			minutes = append(minutes, m)
		}
	}
	minutes = append(minutes, minute)
	k.minutes.Store(&minutes)
}
