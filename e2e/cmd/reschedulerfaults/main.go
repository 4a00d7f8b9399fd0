// Command reschedulerfaults looks for what breaks rescheduling; see package reschedulerfaults. SEEDS, SEED and
// LANES shape it. The exit status is 1 when it finds something.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"muster.dev/muster/e2e/reschedulerfaults"
	"muster.dev/muster/e2e/seeds"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	options, err := seeds.OptionsFromEnv(os.Getenv)
	if err == nil {
		err = reschedulerfaults.Run(ctx, options, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "reschedulerfaults:", err)
		os.Exit(1)
	}
}
