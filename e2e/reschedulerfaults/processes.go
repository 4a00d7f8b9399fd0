package reschedulerfaults

import (
	"context"
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"muster.dev/muster/e2e/faultcampaign"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/process"
)

// processes are what runs in a lane. Its methods are safe for concurrent use, but for start and
// stop.
type processes struct {
	*faultcampaign.Lane

	reschedulers []*rescheduler // Killing is held to look at them, too
}

// rescheduler is one that is started again when it has ended.
type rescheduler struct {
	*muster.Rescheduler

	options muster.Options
	skews   [2]time.Duration // of its clock, and of the next one's
	down    bool             // it was killed, or is being started
}

func startRescheduler(ctx context.Context, beside *muster.Server, o muster.Options, skews [2]time.Duration) (*rescheduler, error) {
	port, err := process.FreePort()
	if err != nil {
		return nil, err
	}
	o.ClockSkew = skews[0]
	r := &rescheduler{options: o, skews: skews}
	r.Rescheduler, err = beside.Reschedule(ctx, o, net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	return r, err
}

// freezeMuster stops it for a time.
func (p *processes) freezeMuster(ctx context.Context, down time.Duration) error {
	p.Killing.Lock()
	defer p.Killing.Unlock()
	if err := p.Muster.Pause(); err != nil {
		return err
	}
	faultcampaign.Pause(ctx, down)
	return p.Muster.Resume()
}

// killRescheduler ends a rescheduler as a crash would, and starts it again after a time, on another machine, whose clock is
// another one. Others may be killed meanwhile.
func (p *processes) killRescheduler(ctx context.Context, replica int, down time.Duration) error {
	p.Killing.Lock()
	r := p.reschedulers[replica]
	if r.down {
		p.Killing.Unlock()
		return nil
	}
	r.down = true
	r.Crash()
	r.skews[0], r.skews[1] = r.skews[1], r.skews[0]
	r.SkewClock(r.skews[0])
	p.Killing.Unlock()
	faultcampaign.Pause(ctx, down)
	return p.restart(ctx, r)
}

// restart starts a rescheduler again that is down.
func (p *processes) restart(ctx context.Context, r *rescheduler) error {
	err := r.Restart(ctx)
	p.Killing.Lock()
	defer p.Killing.Unlock()
	r.down = false
	return err
}

// freezeRescheduler stops it for a time.
func (p *processes) freezeRescheduler(ctx context.Context, replica int, down time.Duration) error {
	p.Killing.Lock()
	r := p.reschedulers[replica]
	if r.down {
		p.Killing.Unlock()
		return nil
	}
	r.down = true
	err := r.Pause()
	p.Killing.Unlock()
	if err == nil {
		faultcampaign.Pause(ctx, down)
		if err = r.Resume(); errors.Is(err, os.ErrProcessDone) {
			err = nil // it was about to end when it was frozen
		}
	}
	p.Killing.Lock()
	defer p.Killing.Unlock()
	r.down = false
	return err
}

// leadershipLost is why a rescheduler may end by itself.
const leadershipLost = "leadership lost"

// keepUp starts reschedulers again that have ended as they have lost their lease, until the
// context ends. It fails when one ended for another reason.
func (p *processes) keepUp(ctx context.Context) error {
	tick := time.NewTicker(faultcampaign.Look)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		p.Killing.Lock()
		var ended *rescheduler
		for _, r := range p.reschedulers {
			if !r.down && r.Err() != nil {
				ended = r
			}
		}
		if ended == nil {
			p.Killing.Unlock()
			continue
		}
		ended.down = true
		p.Killing.Unlock()
		if err := ended.Err(); !strings.Contains(err.Error(), leadershipLost) {
			return err
		}
		if err := p.restart(ctx, ended); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// stop ends muster and the reschedulers.
func (p *processes) stop() {
	p.Killing.Lock()
	defer p.Killing.Unlock()
	for _, r := range p.reschedulers {
		r.Crash()
	}
	p.reschedulers = nil
	if p.Muster != nil {
		_ = p.Muster.Crash() // it is looked at before
	}
}

// findings are what processes have logged since this was last asked that they must not.
func (p *processes) findings() (findings []finding, err error) {
	var logs []string
	for _, r := range p.reschedulers {
		logs = append(logs, r.Log())
	}
	complaints, panics, err := p.Words(logs...)
	for _, line := range complaints {
		findings = append(findings, finding{complained, line})
	}
	for _, line := range panics {
		findings = append(findings, finding{panicked, line})
	}
	return findings, err
}
