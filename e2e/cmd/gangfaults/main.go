// Command gangfaults looks for what breaks gangs; see package gangfaults. SEEDS, SEED and
// LANES shape it. The exit status is 1 when it finds something.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"muster.dev/muster/e2e/gangfaults"
	"muster.dev/muster/e2e/seeds"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	options, err := seeds.OptionsFromEnv(os.Getenv)
	if err == nil {
		err = gangfaults.Run(ctx, options, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gangfaults:", err)
		os.Exit(1)
	}
}
