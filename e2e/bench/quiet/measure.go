package quiet

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Measure serves as the main function of a benchmark: it says how busy the machine is, measures until that is done
// or somebody interrupts it, and ends the program with the error.
func Measure(name string, measure func(context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	Report(ctx, os.Stdout)
	if err := measure(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}
