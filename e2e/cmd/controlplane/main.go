// Command controlplane starts a real Kubernetes control plane with KWOK nodes' machinery
// on 127.0.0.1, says how to use it, and stops it on Ctrl-C. CONTROLPLANE_DIR says where the files
// are by which it is used, see package playground.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"muster.dev/muster/e2e/playground"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil && ctx.Err() == nil { // to be interrupted, whatever it is at, is its usual end
		fmt.Fprintln(os.Stderr, "controlplane:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	options, err := playground.OptionsFromEnv(ctx, os.Getenv, os.Stdout)
	if err != nil {
		return err
	}
	return playground.Run(ctx, options)
}
