// Command soak runs muster for long while everything in its cluster is replaced, and prints by how much
// what it keeps grows; see package soak. The exit status is 1 when it does.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"muster.dev/muster/e2e/campaigns/soak"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o := soak.Options{Progress: os.Stdout, Stir: true}
	flag.DurationVar(
		&o.Time, "time", 30*time.Minute,
		"how long, the warm-up included, which takes a third of it; some minutes come before it, in which the journal of changes fills",
	)
	flag.DurationVar(&o.Every, "every", 0, "the time between two readings; by default a sixtieth of the whole, and 10s at least")
	flag.StringVar(
		&o.Profiles,
		"profiles",
		"",
		"the `directory` for profiles of the heap after the warm-up and at the end (go tool pprof -diff_base=first.pb.gz last.pb.gz)",
	)
	flag.Parse()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o soak.Options) error {
	report, err := soak.Run(ctx, o)
	if err != nil {
		return err
	}
	report.Print(os.Stdout)
	return report.Judge()
}
