package controlplane

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/process"
)

// The election of replicas, quicker than by default.
const (
	// SchedulerLease is how long a leader is waited for that is gone.
	SchedulerLease = 4 * time.Second
	schedulerRenew = 3 * time.Second
	schedulerRetry = 400 * time.Millisecond
)

// SchedulerReplicas are stock schedulers that run for election: one schedules, and the others have full
// caches. They are told by numbers from 0 on. Its methods may be called from any goroutine.
type SchedulerReplicas struct {
	controlPlane *ControlPlane
	options      SchedulerOptions
	ports        []int

	mu   sync.Mutex
	runs []bool
}

// StartSchedulerReplicas starts so many, as StartScheduler would, but for the election, and returns when one leads.
func (cp *ControlPlane) StartSchedulerReplicas(ctx context.Context, count int, o SchedulerOptions) (*SchedulerReplicas, error) {
	r := &SchedulerReplicas{controlPlane: cp, options: o, ports: make([]int, count), runs: make([]bool, count)}
	for i := range r.ports {
		var err error
		if r.ports[i], err = process.FreePort(); err != nil {
			return nil, err
		}
		if err := r.Start(ctx, i); err != nil {
			r.Stop()
			return nil, err
		}
	}
	if _, err := r.AwaitLeader(ctx); err != nil {
		r.Stop()
		return nil, err
	}
	return r, nil
}

// replicaName is what a replica is called, and its files.
func replicaName(i int) binaries.Binary {
	return binaries.Binary(fmt.Sprintf("%s-%d", binaries.Scheduler, i))
}

// Log is the log file of a replica.
func (r *SchedulerReplicas) Log(i int) string { return r.controlPlane.Log(replicaName(i)) }

// Count is how many replicas there are, killed ones among them.
func (r *SchedulerReplicas) Count() int { return len(r.ports) }

// Start starts a replica, again if it was killed, and returns when its caches are synced.
func (r *SchedulerReplicas) Start(ctx context.Context, i int) error {
	cp, name := r.controlPlane, replicaName(i)
	cp.mu.Lock()
	cp.extras[name] = cp.binaries.Path(binaries.Scheduler)
	cp.mu.Unlock()
	err := cp.startScheduler(ctx, name, r.ports[i], r.options, map[string]any{
		"leaderElect": true, "leaseDuration": SchedulerLease.String(), "renewDeadline": schedulerRenew.String(),
		"retryPeriod": schedulerRetry.String(),
	})
	if err == nil {
		r.set(i, true)
	}
	return err
}

// Kill ends a replica as a crash would.
func (r *SchedulerReplicas) Kill(i int) {
	r.set(i, false)
	r.controlPlane.kill(replicaName(i))
}

// Stop ends all of them.
func (r *SchedulerReplicas) Stop() {
	for i := range r.ports {
		r.Kill(i)
	}
}

func (r *SchedulerReplicas) set(i int, runs bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs[i] = runs
}

// errNoLeader says that no replica that runs leads.
var errNoLeader = errors.New("no replica leads")

// AwaitLeader returns when a replica leads, and which.
func (r *SchedulerReplicas) AwaitLeader(ctx context.Context) (leader int, err error) {
	err = wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, startTimeout, true, func(ctx context.Context) (bool, error) {
		leader, err = r.Leader(ctx)
		if errors.Is(err, errNoLeader) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return 0, fmt.Errorf("wait until a scheduler leads: %w", err)
	}
	return leader, nil
}

// Leader is the replica that leads, as its metrics say.
func (r *SchedulerReplicas) Leader(ctx context.Context) (int, error) {
	r.mu.Lock()
	runs := append([]bool(nil), r.runs...)
	r.mu.Unlock()
	for i, port := range r.ports {
		if !runs[i] {
			continue
		}
		families, err := metricsAt(ctx, port)
		if err != nil {
			return 0, fmt.Errorf("read the metrics of %s: %w", replicaName(i), err)
		}
		for _, m := range families["leader_election_master_status"].GetMetric() {
			if m.GetGauge().GetValue() == 1 {
				return i, nil
			}
		}
	}
	return 0, errNoLeader
}
