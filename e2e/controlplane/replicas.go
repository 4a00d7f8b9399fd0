package controlplane

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"muster.dev/muster/e2e/await"
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

// endGrace is how long a replica may take to end.
const endGrace = 10 * time.Second

// SchedulerReplicas are stock schedulers that run for election: one schedules, and the others have full
// caches. They are told by numbers from 0 on. Its methods may be called from any goroutine.
type SchedulerReplicas struct {
	controlPlane *ControlPlane
	options      []SchedulerOptions
	ports        []int

	mu   sync.Mutex // held while one is started or killed
	runs []bool     // are to run
}

// StartSchedulerReplicas starts a scheduler with each of the options, as StartScheduler would, with election on, and
// returns when one leads.
func (cp *ControlPlane) StartSchedulerReplicas(ctx context.Context, each ...SchedulerOptions) (*SchedulerReplicas, error) {
	r := &SchedulerReplicas{controlPlane: cp, options: each, ports: make([]int, len(each)), runs: make([]bool, len(each))}
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

// replicaName returns the name of a replica and its files.
func replicaName(i int) binaries.Binary {
	return binaries.Binary(fmt.Sprintf("%s-%d", binaries.Scheduler, i))
}

// Log is the log file of a replica.
func (r *SchedulerReplicas) Log(i int) string { return r.controlPlane.Log(replicaName(i)) }

// Count is how many replicas there are, killed ones among them.
func (r *SchedulerReplicas) Count() int { return len(r.ports) }

// Start starts a replica, again if it was killed, and returns when its caches are synced. One that ends by itself, as
// it lost the election, starts again, as a kubelet would have it.
func (r *SchedulerReplicas) Start(ctx context.Context, i int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs[i] = true
	if err := r.start(ctx, i); err != nil {
		r.runs[i] = false
		return err
	}
	return nil
}

func (r *SchedulerReplicas) start(ctx context.Context, i int) error {
	cp, name := r.controlPlane, replicaName(i)
	path, err := cp.program(ctx, binaries.Scheduler)
	if err != nil {
		return err
	}
	cp.mu.Lock()
	cp.extras[name] = path
	cp.revive[name] = func(why error) bool { return r.revive(i, why) }
	cp.mu.Unlock()
	election := map[string]any{"leaderElect": true}
	if !r.options[i].Patient {
		election["leaseDuration"], election["renewDeadline"] = SchedulerLease.String(), schedulerRenew.String()
		election["retryPeriod"] = schedulerRetry.String()
	}
	return cp.startScheduler(ctx, name, r.ports[i], r.options[i], election)
}

// revive starts a replica again that lost the election, unless it was killed meanwhile.
func (r *SchedulerReplicas) revive(i int, why error) bool {
	if !strings.Contains(why.Error(), "Leaderelection lost") {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.runs[i] {
		return true
	}
	r.controlPlane.kill(replicaName(i))
	return r.start(context.Background(), i) == nil
}

// Kill ends a replica as a crash would.
func (r *SchedulerReplicas) Kill(i int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs[i] = false
	r.controlPlane.kill(replicaName(i))
}

// End tells a replica to end, and returns when it is gone.
func (r *SchedulerReplicas) End(i int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs[i] = false
	r.controlPlane.end(replicaName(i), func(p *process.Process) { p.Stop(endGrace) })
}

// Stop ends all of them.
func (r *SchedulerReplicas) Stop() {
	for i := range r.ports {
		r.Kill(i)
	}
}

// errNoLeader says that no replica that runs leads.
var errNoLeader = errors.New("no replica leads")

// AwaitLeader returns when a replica leads, and which.
func (r *SchedulerReplicas) AwaitLeader(ctx context.Context) (leader int, err error) {
	err = wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, await.Patience, true, func(ctx context.Context) (bool, error) {
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

// Leader is the replica that leads, as its metrics say. One that does not answer leads nobody.
func (r *SchedulerReplicas) Leader(ctx context.Context) (int, error) {
	for i, port := range r.ports {
		families, err := metricsAt(ctx, port)
		if ctx.Err() != nil {
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
