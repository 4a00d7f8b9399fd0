package pairs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/muster"
)

// Options of Pairs.
type Options struct {
	// Count is how many there are.
	Count int
	// Alone has kube-schedulers run that call no muster, for comparison.
	Alone bool
	// Patient has kube-scheduler and muster elect their leaders by their own times, and not by shorter ones.
	Patient  bool
	Progress io.Writer
}

// Pairs are kube-schedulers and the musters beside them, told by numbers from 0 on. Its methods are for one goroutine.
type Pairs struct {
	options    Options
	schedulers *controlplane.SchedulerReplicas
	beside     []*keeper
	witness    *witness
}

// Start starts pairs beside a control plane, and returns when one leads. The caller must call Stop.
func Start(ctx context.Context, cp *controlplane.ControlPlane, o Options) (p *Pairs, err error) {
	p = &Pairs{options: o}
	defer func() {
		if err != nil {
			p.Stop()
		}
	}()
	schedulers, err := p.configure(ctx, cp)
	if err != nil {
		return p, err
	}
	client, err := kubernetes.NewForConfig(cp.RESTConfig())
	if err != nil {
		return p, fmt.Errorf("connect to the control plane: %w", err)
	}
	p.witness = &witness{leases: client.CoordinationV1().Leases(leaseNamespace), seen: make([]sight, o.Count)}
	p.schedulers, err = cp.StartSchedulerReplicas(ctx, schedulers...)
	return p, err
}

// configure returns how the kube-schedulers are run, and starts the musters beside them, if there are to be any.
func (p *Pairs) configure(ctx context.Context, cp *controlplane.ControlPlane) (schedulers []controlplane.SchedulerOptions, err error) {
	for i := range p.options.Count {
		schedulers = append(schedulers, controlplane.SchedulerOptions{Host: host(i), Patient: p.options.Patient})
	}
	if p.options.Alone {
		return schedulers, nil
	}
	binary, err := binaries.BuildMuster(ctx, p.options.Progress)
	if err != nil {
		return nil, err
	}
	for i := range schedulers {
		server, err := muster.Start(ctx, p.options.muster(cp, binary, i))
		if err != nil {
			return nil, err
		}
		p.beside = append(p.beside, keep(server))
		if schedulers[i].Config, err = server.SchedulerConfig(ctx); err != nil {
			return nil, err
		}
	}
	return schedulers, nil
}

func host(i int) string { return fmt.Sprintf("host-%d", i) }

// muster is how the one of a pair is run.
func (o Options) muster(cp *controlplane.ControlPlane, binary string, i int) muster.Options {
	election := map[string]any{"leaderElect": true, "schedulerLease": leaseNamespace + "/" + leaseName}
	if !o.Patient { // the time of controlplane.StartSchedulerReplicas
		election["leaseDuration"] = "4s"
	}
	return muster.Options{
		ControlPlane: cp, Binary: binary, Name: fmt.Sprintf("muster-%d", i), Host: host(i), Progress: o.Progress,
		Selection: muster.Muster, MinSaving: "0s", Config: map[string]any{"leaderElection": election},
	}
}

// Leader is the pair whose kube-scheduler leads; it waits for one.
func (p *Pairs) Leader(ctx context.Context) (int, error) { return p.schedulers.AwaitLeader(ctx) }

// Bystanders is for how many pods musters were seen to plan nominations beside kube-schedulers that did not have their
// Lease.
func (p *Pairs) Bystanders() int { return p.witness.bystanders }

// Planned is the same of the others.
func (p *Pairs) Planned() int { return p.witness.planned }

// Event happens to a pair.
type Event string

// The events.
const (
	SchedulerDies Event = "scheduler" // it is killed, and starts again in its place
	MusterDies    Event = "muster"    // the same
	HostIsLost    Event = "host"      // both are killed, and start again when the other pair has bound a pod
	PodIsReplaced Event = "replaced"  // both are told to end, kube-scheduler first, and start again
)

// Events are all that there are.
func Events() []Event { return []Event{SchedulerDies, MusterDies, HostIsLost, PodIsReplaced} }

// Events are the ones that can happen to these pairs.
func (p *Pairs) Events() []Event {
	return slices.DeleteFunc(Events(), func(e Event) bool { return p.options.Alone && e == MusterDies })
}

// Meet has something happen to a pair, and calls bound, which returns when a pod is bound that was created since. Who plans
// meanwhile is watched.
func (p *Pairs) Meet(ctx context.Context, i int, e Event, bound func(context.Context) error) error {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	var watch sync.WaitGroup
	watch.Go(func() { wait.UntilWithContext(watching, p.look, lookEvery) })
	err := p.meet(ctx, i, e, bound)
	stop()
	watch.Wait()
	return err
}

func (p *Pairs) meet(ctx context.Context, i int, e Event, bound func(context.Context) error) error {
	switch e {
	case SchedulerDies:
		p.schedulers.Kill(i)
		return errors.Join(p.schedulers.Start(ctx, i), bound(ctx))
	case MusterDies:
		return errors.Join(p.at(i, func(k *keeper) error { return k.crash(true) }), bound(ctx))
	case HostIsLost:
		p.schedulers.Kill(i)
		err := errors.Join(p.at(i, func(k *keeper) error { return k.crash(false) }), bound(ctx))
		return errors.Join(err, p.again(ctx, i))
	case PodIsReplaced:
		p.schedulers.End(i)
		err := p.at(i, func(k *keeper) error { k.stop(); return nil })
		return errors.Join(err, bound(ctx), p.again(ctx, i))
	}
	return fmt.Errorf("unknown event %q", e)
}

// at has something be done with the muster of a pair, if it has one.
func (p *Pairs) at(i int, do func(*keeper) error) error {
	if i >= len(p.beside) {
		return nil
	}
	return do(p.beside[i])
}

// again starts a pair that was ended.
func (p *Pairs) again(ctx context.Context, i int) error {
	return errors.Join(p.at(i, func(k *keeper) error { return k.start(ctx) }), p.schedulers.Start(ctx, i))
}

// Stop ends all of them.
func (p *Pairs) Stop() {
	if p.schedulers != nil {
		p.schedulers.Stop()
	}
	for _, k := range p.beside {
		k.stop()
	}
}

// keeper keeps a muster running, as a kubelet does.
type keeper struct {
	mu     sync.Mutex
	server *muster.Server
	runs   bool // is to run
	failed error
	done   sync.WaitGroup
}

func keep(server *muster.Server) *keeper {
	k := &keeper{server: server, runs: true}
	k.watch()
	return k
}

// watch starts muster again when it ends by itself, as one does whose kube-scheduler leads no more. The caller holds the
// lock, or is alone.
func (k *keeper) watch() {
	ended := k.server.Done()
	k.done.Go(func() {
		<-ended
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.runs && k.server.Done() == ended {
			k.failed = k.restart(context.Background())
		}
	})
}

func (k *keeper) restart(ctx context.Context) error {
	if err := k.server.Restart(ctx); err != nil {
		return err
	}
	k.watch()
	return nil
}

// crash kills muster, and starts it again if it is to.
func (k *keeper) crash(again bool) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.failed != nil {
		return k.failed
	}
	k.runs = again
	if err := k.server.Crash(); err != nil {
		return err
	}
	if !again {
		return nil
	}
	if err := k.server.Relaunch(); err != nil {
		return err
	}
	k.watch()
	return nil
}

// start starts one that was ended.
func (k *keeper) start(ctx context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.runs = true
	return k.restart(ctx)
}

// stop ends muster, and returns when it is gone.
func (k *keeper) stop() {
	k.mu.Lock()
	k.runs = false
	k.server.Stop()
	k.mu.Unlock()
	k.done.Wait()
}

func (k *keeper) planned(ctx context.Context) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.failed != nil {
		return 0, k.failed
	}
	return k.server.Planned(ctx)
}
