package reschedulerfaults

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/e2e/campaigns/faultcampaign"
)

// pause is a time in which a rescheduler has said that its mode is a stricter one.
type pause struct {
	mode     v1alpha1.Mode
	replica  int
	from, to time.Time
}

// modes are the changes of rescheduler.mode in a run. Its methods are safe for concurrent use.
type modes struct {
	changing sync.Mutex // held while it is a stricter one

	mu     sync.Mutex
	pauses []pause
}

func (m *modes) add(p pause) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pauses = append(m.pauses, p)
}

// all are the pauses so far.
func (m *modes) all() []pause {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.pauses)
}

// stopForAWhile has the mode be DryRun for some seconds, most often in the middle of a plan, and what it was again. In most
// cases somebody then deletes the plans that were made meanwhile: as long as they last no others are made.
func (w *writer) stopForAWhile() {
	lasts, deletes := 2*time.Second+w.within(3*time.Second), w.rand.IntN(4) > 0
	w.happen("have the mode be DryRun", dryRun, func(ctx context.Context, r *run) error {
		if err := r.brake(ctx, v1alpha1.DryRun, lasts); err != nil || !deletes {
			return err
		}
		return r.deletePlans(ctx, func(p *v1alpha1.ReschedulingPlan) bool { return p.Spec.Mode == v1alpha1.DryRun })
	})
}

// askForAWhile has the mode be Approve for some seconds, and what it was again.
func (w *writer) askForAWhile() {
	lasts := 2*time.Second + w.within(3*time.Second)
	w.happen("have the mode be Approve", askFirst, func(ctx context.Context, r *run) error {
		return r.brake(ctx, v1alpha1.Approve, lasts)
	})
}

// brake has all reschedulers have a stricter mode for a time.
func (r *run) brake(ctx context.Context, mode v1alpha1.Mode, lasts time.Duration) error {
	r.modes.changing.Lock()
	defer r.modes.changing.Unlock()
	r.Note("mode " + string(mode))
	if err := r.setMode(ctx, mode); err != nil {
		return err
	}
	var since [most]time.Time // a replica has said that it is so
	for end := time.Now().Add(lasts); time.Now().Before(end) && ctx.Err() == nil; faultcampaign.Pause(ctx, faultcampaign.Look) {
		for replica := range r.script.settings.replicas {
			if since[replica].IsZero() && r.lane.mode(ctx, replica) == mode {
				since[replica] = time.Now()
				r.Note(fmt.Sprintf("rescheduler %d says that its mode is %s", replica, mode))
			}
		}
	}
	for replica, from := range since {
		if !from.IsZero() {
			r.modes.add(pause{mode, replica, from, time.Now()})
		}
	}
	before := r.script.settings.mode
	r.Note("mode " + string(before))
	return r.setMode(ctx, before)
}

// setMode rewrites the configurations of all reschedulers.
func (r *run) setMode(ctx context.Context, mode v1alpha1.Mode) error {
	r.lane.Killing.Lock()
	defer r.lane.Killing.Unlock()
	if ctx.Err() != nil {
		return nil
	}
	for _, rescheduler := range r.lane.reschedulers {
		o := rescheduler.options
		o.Config = maps.Clone(o.Config)
		o.Config["rescheduler"] = r.script.settings.config(mode)
		if err := r.lane.Muster.Reconfigure(rescheduler.Rescheduler, o); err != nil {
			return err
		}
	}
	return nil
}

// mode returns the mode that a rescheduler reports, "" when it reports none.
func (p *processes) mode(ctx context.Context, replica int) v1alpha1.Mode {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	text, err := p.reschedulers[replica].Page(ctx, "/debug/rescheduler?format=json")
	if err != nil {
		return ""
	}
	var page struct {
		Mode v1alpha1.Mode `json:"mode"`
	}
	_ = json.Unmarshal([]byte(text), &page) // "" then
	return page.Mode
}

// judgePauses looks for evictions by a rescheduler that has said that its mode is a stricter one: in mode Approve, of plans
// that nobody has approved of.
func (s *story) judgePauses() (findings []finding) {
	for i := range s.evictions {
		e := &s.evictions[i]
		for _, p := range s.pauses {
			if e.replica != p.replica || e.asked.Before(p.from) || e.asked.After(p.to) || p.mode == v1alpha1.Approve && s.final.isApproved(e.uid) {
				continue
			}
			findings = append(findings, faultcampaign.Found(
				paused, "pod %s, %s after rescheduler %d has said that it is %s", e.pod, e.asked.Sub(p.from).Round(time.Millisecond), p.replica, p.mode,
			))
		}
	}
	return findings
}

// isApproved says that somebody has approved of a plan that moves a pod.
func (s *state) isApproved(uid types.UID) bool {
	for _, p := range s.plans {
		if p.step(uid) != nil && p.object.IsApproved() {
			return true
		}
	}
	return false
}
