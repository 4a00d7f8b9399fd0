package controlplane

import (
	"os"
	"os/signal"
	"testing"
)

// ForTest starts a control plane that is stopped when the test ends, and on Ctrl-C. The
// logs of a failed test are kept, and the test says where.
func ForTest(t testing.TB, o Options) *ControlPlane {
	t.Helper()
	dir, err := os.MkdirTemp("", "muster-e2e-")
	if err != nil {
		t.Fatal(err)
	}
	o.Dir = dir
	if o.Progress == nil {
		o.Progress = t.Output()
	}
	cp, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	release := onInterrupt(func() {
		cp.Stop()
		_ = os.RemoveAll(dir)
		os.Exit(130)
	})
	t.Cleanup(func() {
		release()
		cp.Stop()
		if t.Failed() {
			t.Logf("logs of the control plane: %s", dir)
			return
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("remove the control plane's directory: %v", err)
		}
	})
	return cp
}

// onInterrupt runs act on Ctrl-C until release is called.
func onInterrupt(act func()) (release func()) {
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, os.Interrupt)
	go func() {
		select {
		case <-signals:
			act()
		case <-done:
		}
	}()
	return func() { signal.Stop(signals); close(done) }
}
