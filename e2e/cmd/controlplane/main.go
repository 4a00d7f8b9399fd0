// Command controlplane starts a real Kubernetes control plane with KWOK nodes' machinery
// on 127.0.0.1, says how to use it, and stops it on Ctrl-C.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"muster.dev/muster/e2e/controlplane"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "controlplane:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	cp, err := controlplane.Start(ctx, controlplane.Options{Progress: os.Stderr})
	if err != nil {
		return err
	}
	defer cp.Stop()
	if err := cp.StartKWOK(ctx); err != nil {
		return err
	}
	if err := cp.StartScheduler(ctx, controlplane.SchedulerOptions{}); err != nil {
		return err
	}
	fmt.Printf(`
export KUBECONFIG=%s
alias kubectl=%s

Nodes become ready and pods run as soon as they are created; a pod annotated
%s=30s succeeds after that time.
Logs and certificates: %s
Ctrl-C stops everything.
`, cp.Kubeconfig(), cp.Kubectl(), controlplane.RunsForAnnotation, cp.Dir())

	select {
	case <-ctx.Done():
		return nil
	case err := <-cp.Failed():
		return err
	}
}
