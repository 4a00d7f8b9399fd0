package muster

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"path/filepath"

	"muster.dev/muster/e2e/process"
)

// Rescheduler is a running 'muster reschedule'.
type Rescheduler struct {
	process *process.Process
	spec    process.Spec
}

// Reschedule runs a rescheduler beside the server, with its configuration. That must say where
// the rescheduler listens. The caller must call Stop.
func (s *Server) Reschedule(ctx context.Context, o Options, listen string) (*Rescheduler, error) {
	r := &Rescheduler{spec: process.Spec{
		Name: "muster reschedule", Path: s.binary, Log: filepath.Join(o.ControlPlane.Dir(), "muster-reschedule.log"),
		Args: []string{"reschedule", "--config=" + s.config, "--kubeconfig=" + cmp.Or(o.Kubeconfig, o.ControlPlane.Kubeconfig())},
	}}
	return r, r.Restart(ctx, listen)
}

// Restart starts it, for the first time or again, and returns when it has seen the cluster.
func (r *Rescheduler) Restart(ctx context.Context, listen string) (err error) {
	if r.process, err = process.Start(r.spec); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	return r.process.Await(ctx, func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+listen+"/readyz", nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("/readyz answered %s", response.Status)
		}
		return nil
	})
}

// Log is the path of its log.
func (r *Rescheduler) Log() string { return r.spec.Log }

// Crash ends it with no chance to clean up.
func (r *Rescheduler) Crash() { r.process.Kill() }

// Err says why it ended when nobody stopped it.
func (r *Rescheduler) Err() error { return r.process.Err() }

// Stop ends it gracefully.
func (r *Rescheduler) Stop() { r.process.Stop(stopGrace) }
