package muster

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"time"

	"muster.dev/muster/e2e/await"
	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/process"
)

// Rescheduler is a running 'muster reschedule'.
type Rescheduler struct {
	process *process.Process
	spec    process.Spec
	listen  string
	config  string
}

// Reschedule runs a rescheduler beside the server: with its configuration and another port, so that
// there may be several. The caller must call Stop.
func (s *Server) Reschedule(ctx context.Context, o Options, listen string) (*Rescheduler, error) {
	_, port, err := net.SplitHostPort(listen)
	if err != nil {
		return nil, fmt.Errorf("where the rescheduler listens: %w", err)
	}
	file := func(name string) string { return filepath.Join(o.ControlPlane.Dir(), "muster-reschedule-"+port+name) }
	config := file(".yaml")
	if err := o.listening(listen).writeConfig(config, s.identity, s.webhook); err != nil {
		return nil, err
	}
	r := &Rescheduler{listen: listen, config: config, spec: process.Spec{
		Name: "muster reschedule", Path: s.binary, Log: file(".log"),
		Args: []string{"reschedule", "--config=" + config, "--kubeconfig=" + cmp.Or(o.Kubeconfig, o.ControlPlane.Kubeconfig())},
	}}
	r.SkewClock(o.ClockSkew)
	return r, r.Restart(ctx)
}

// Reconfigure rewrites the configuration of a rescheduler, which it sees by itself.
func (s *Server) Reconfigure(r *Rescheduler, o Options) error {
	return o.listening(r.listen).writeConfig(r.config, s.identity, s.webhook)
}

// listening are the options with rescheduler.listen.
func (o Options) listening(listen string) Options {
	o.Config = maps.Clone(o.Config)
	if o.Config == nil {
		o.Config = map[string]any{}
	}
	section, _ := o.Config["rescheduler"].(map[string]any)
	if section = maps.Clone(section); section == nil {
		section = map[string]any{}
	}
	section["listen"] = listen
	o.Config["rescheduler"] = section
	return o
}

// Restart starts it, for the first time or again, and returns when it has seen the cluster.
func (r *Rescheduler) Restart(ctx context.Context) (err error) {
	if r.process, err = process.Start(r.spec); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, await.Patience)
	defer cancel()
	return r.process.Await(ctx, func(ctx context.Context) error {
		_, err := r.Page(ctx, "/readyz")
		return err
	})
}

// SkewClock has the clock be ahead by a time from the next start on, as on another machine; see Options.ClockSkew.
func (r *Rescheduler) SkewClock(by time.Duration) { r.spec.Env = []string{binaries.Skew(by)} }

// URL is where the rescheduler answers.
func (r *Rescheduler) URL() string { return "http://" + r.listen }

// Page returns a page of the rescheduler's.
func (r *Rescheduler) Page(ctx context.Context, path string) (string, error) {
	return page(ctx, r.URL()+path)
}

// Log is the path of its log.
func (r *Rescheduler) Log() string { return r.spec.Log }

// Crash ends it with no chance to clean up.
func (r *Rescheduler) Crash() { r.process.Kill() }

// Pause stops it where it is, until Resume.
func (r *Rescheduler) Pause() error { return r.process.Pause() }

// Resume has a paused one go on.
func (r *Rescheduler) Resume() error { return r.process.Resume() }

// Err says why it ended when nobody stopped it.
func (r *Rescheduler) Err() error { return r.process.Err() }

// Stop ends it gracefully.
func (r *Rescheduler) Stop() { r.process.Stop(stopGrace) }
