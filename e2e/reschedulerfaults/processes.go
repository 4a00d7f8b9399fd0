package reschedulerfaults

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/process"
)

// processes are those of a lane. Its methods are safe for concurrent use, but for start and
// stop.
type processes struct {
	controlPlane *controlplane.ControlPlane
	binary       string
	scheduler    string // its configuration

	mu           sync.Mutex // one is killed at a time
	muster       *muster.Server
	reschedulers []*rescheduler
	read         map[string]int64 // how far logs have been read
}

// rescheduler is one that is started again when it has ended.
type rescheduler struct {
	*muster.Rescheduler

	listen string
	down   bool // it was killed, or is being started
}

func startRescheduler(ctx context.Context, beside *muster.Server, o muster.Options) (*rescheduler, error) {
	port, err := process.FreePort()
	if err != nil {
		return nil, err
	}
	r := &rescheduler{listen: net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}
	r.Rescheduler, err = beside.Reschedule(ctx, o, r.listen)
	return r, err
}

func (p *processes) startScheduler(ctx context.Context) error {
	return p.controlPlane.StartScheduler(ctx, controlplane.SchedulerOptions{Config: p.scheduler})
}

// killScheduler ends the scheduler as a crash would, and starts it again after a time.
func (p *processes) killScheduler(ctx context.Context, down time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.controlPlane.StopScheduler()
	pause(ctx, down)
	return p.startScheduler(ctx)
}

// killMuster does so with muster.
func (p *processes) killMuster(ctx context.Context, down time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.muster.Crash(); err != nil {
		return err
	}
	pause(ctx, down)
	return p.muster.Restart(ctx)
}

// freezeMuster stops it for a time.
func (p *processes) freezeMuster(ctx context.Context, down time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.muster.Pause(); err != nil {
		return err
	}
	pause(ctx, down)
	return p.muster.Resume()
}

// killRescheduler ends a rescheduler as a crash would, and starts it again after a time. Others
// may be killed meanwhile.
func (p *processes) killRescheduler(ctx context.Context, replica int, down time.Duration) error {
	p.mu.Lock()
	r := p.reschedulers[replica]
	if r.down {
		p.mu.Unlock()
		return nil
	}
	r.down = true
	r.Crash()
	p.mu.Unlock()
	pause(ctx, down)
	return p.restart(ctx, r)
}

// restart starts a rescheduler again that is down.
func (p *processes) restart(ctx context.Context, r *rescheduler) error {
	err := r.Restart(ctx, r.listen)
	p.mu.Lock()
	defer p.mu.Unlock()
	r.down = false
	return err
}

// freezeRescheduler stops it for a time.
func (p *processes) freezeRescheduler(ctx context.Context, replica int, down time.Duration) error {
	p.mu.Lock()
	r := p.reschedulers[replica]
	if r.down {
		p.mu.Unlock()
		return nil
	}
	r.down = true
	err := r.Pause()
	p.mu.Unlock()
	if err == nil {
		pause(ctx, down)
		err = r.Resume()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r.down = false
	return err
}

// leadershipLost is why a rescheduler may end by itself.
const leadershipLost = "leadership lost"

// keepUp starts reschedulers again that have ended as they have lost their lease, until the
// context ends. It fails when one ended for another reason.
func (p *processes) keepUp(ctx context.Context) error {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		p.mu.Lock()
		var ended *rescheduler
		for _, r := range p.reschedulers {
			if !r.down && r.Err() != nil {
				ended = r
			}
		}
		if ended == nil {
			p.mu.Unlock()
			continue
		}
		ended.down = true
		p.mu.Unlock()
		if err := ended.Err(); !strings.Contains(err.Error(), leadershipLost) {
			return err
		}
		if err := p.restart(ctx, ended); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// died is why a process ended that nobody killed and that must not end.
func (p *processes) died() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case err := <-p.controlPlane.Failed():
		return err
	default:
	}
	if p.muster == nil {
		return nil
	}
	return p.muster.Err()
}

// stop ends muster and the reschedulers.
func (p *processes) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.reschedulers {
		r.Crash()
	}
	p.reschedulers = nil
	if p.muster != nil {
		_ = p.muster.Crash() // it is looked at before
	}
}

// words are what processes have logged since this was last asked that they must not.
func (p *processes) words() (findings []finding, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	look := func(what, log string, matches func(string, int64) ([]string, error)) {
		size := muster.LogSize(log)
		lines, failed := matches(log, p.read[log])
		err = errors.Join(err, failed)
		p.read[log] = size
		for _, line := range lines {
			findings = append(findings, finding{what, line})
		}
	}
	look(complained, p.controlPlane.Log(binaries.Scheduler), muster.Complaints)
	look(panicked, p.muster.Log(), muster.Panics)
	for _, r := range p.reschedulers {
		look(panicked, r.Log(), muster.Panics)
	}
	if err != nil {
		return nil, fmt.Errorf("read logs: %w", err)
	}
	return findings, nil
}
