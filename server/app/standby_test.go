package app

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"muster.dev/muster/server/leadership"
)

func TestAProcessStandsByReadyAndStopsInOrderWhenItMayNotLeadAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		eligibility := leadership.NewEligibility()
		election := newCandidate(t, eligibility)
		readiness := NewReadiness(ReadinessOptions{Synced: func() bool { return true }, Election: election})
		if err := readiness.Ready(); !errors.Is(err, leadership.ErrUnknown) {
			t.Errorf("before it knows whether it may lead: %v", err)
		}
		eligibility.Know()
		if err := readiness.Ready(); err != nil {
			t.Errorf("while it stands by: %v", err)
		}
		if err := readiness.Serving(); !errors.Is(err, leadership.ErrStandingBy) {
			t.Errorf("to a call while it stands by: %v", err)
		}
		stopped := false
		p := &Process{
			Logger: slog.New(slog.DiscardHandler), Election: election, Patience: time.Minute,
			Wait:  func(context.Context) error { return nil },
			Stops: []Stop{{Name: "calls", Run: func(context.Context) bool { stopped = true; return election.Fence().Check() == nil }}},
		}
		ended := make(chan error, 1)
		go func() { ended <- p.Run(t.Context()) }()
		eligibility.Set(true)
		synctest.Wait()
		if err := readiness.Ready(); err != nil {
			t.Errorf("while it leads: %v", err)
		}
		<-time.After(time.Minute)
		eligibility.Set(false)
		if err := <-ended; !errors.Is(err, leadership.ErrIneligible) {
			t.Errorf("it ends with %v", err)
		}
		if !stopped {
			t.Error("it has not stopped in order")
		}
		if err := election.Fence().Check(); !errors.Is(err, leadership.ErrResigned) {
			t.Errorf("at the end the fence says %v", err)
		}
	})
}
