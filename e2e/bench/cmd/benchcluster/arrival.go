package main

import (
	"context"
	"fmt"
	"time"

	"muster.dev/muster/e2e/bench/contender"
	"muster.dev/muster/e2e/podwatch"
	"muster.dev/muster/e2e/workload"
)

// arrival is when the pods of a cell come: before the contender starts, or after.
type arrival string

const (
	// backlog pods wait. The extender starts, and when it is ready the scheduler does.
	backlog arrival = "backlog"
	// nominated pods wait, and the scheduler starts when muster has nominated them.
	nominated arrival = "nominated"
	// together is a backlog that extender and scheduler start on at the same moment.
	together arrival = "together"
	// live pods are created while the contender is at work.
	live arrival = "live"
)

// stillFor is how long no pod must be nominated for muster to have nominated what it will. It
// is longer than muster pauses when the API server is slow.
const stillFor = 10 * time.Second

// meet lets pods and contender come together in the way of the arrival. What it returns
// has to be stopped, unless there is an error.
func (l laboratory) meet(ctx context.Context, c cell, pods workload.Cluster, watch *podwatch.Watch) (_ *meeting, err error) {
	m := &meeting{}
	if c.arrival != live {
		if err := pods.CreateWorkloads(ctx, l.Client); err != nil {
			return nil, err
		}
	}
	launched := time.Now()
	programs := l.programs
	if c.arrival == nominated { // before the scheduler starts: nothing is known of it then
		programs = programs.WithEager(true)
	}
	m.entry, err = programs.Launch(ctx, l.ControlPlane, c.contender, c.percentage())
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			m.entry.Stop()
		}
	}()
	if c.arrival != together {
		if err := m.entry.AwaitExtender(ctx); err != nil {
			return nil, err
		}
	}
	if c.arrival == nominated {
		last, err := l.awaitNominations(ctx, watch, len(pods.Pods))
		if err != nil {
			return nil, err
		}
		m.lead = last.Sub(launched)
	}
	if err := m.entry.StartScheduler(ctx); err != nil {
		return nil, err
	}
	if c.arrival == live {
		m.created = time.Now()
		return m, pods.CreateWorkloads(ctx, l.Client)
	}
	return m, nil
}

// meeting is a contender that is at work on the pods of a cell.
type meeting struct {
	entry *contender.Entry
	// lead is from the start of muster to its last nomination, where the scheduler waited
	// for that.
	lead time.Duration
	// created is when the first pod was about to be created, where the pods are live.
	created time.Time
}

// rate is the number of pods bound per second: of live ones since the first was created,
// of others since the first was bound, which leaves out starting and syncing.
func (m *meeting) rate(t podwatch.Tally) float64 {
	if m.created.IsZero() {
		return t.Rate()
	}
	return float64(t.Bound) / t.Last.Sub(m.created).Seconds()
}

// awaitNominations returns when muster has nominated a number of pods, or the most that it is
// allowed to, and says when it nominated the last one.
func (l laboratory) awaitNominations(ctx context.Context, watch *podwatch.Watch, pods int) (last time.Time, err error) {
	count := 0
	err = l.Await(ctx, "pods to be nominated", cellTimeout, func(context.Context) (bool, error) {
		all, err := watch.Pods()
		if err != nil {
			return false, err
		}
		before := count
		count = 0
		for _, p := range all {
			if p.Status.NominatedNodeName != "" {
				count++
			}
		}
		if count != before {
			last = time.Now()
		}
		return count == pods || count > 0 && time.Since(last) > stillFor, nil
	})
	if err != nil {
		return last, fmt.Errorf("%d of %d pods are nominated: %w", count, pods, err)
	}
	return last, nil
}
