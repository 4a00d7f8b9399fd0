// Command benchracks replays jobs on clusters of racks by the rules of several schedulers, and prints what is left whole.
//
// DEMO_DATA is the directory of the openb trace, relative to the root of the repository; without one its jobs are left out.
// RACKS_SEEDS is how many workloads are drawn, 2 by default.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"muster.dev/muster/e2e/bench/figures"
	"muster.dev/muster/e2e/bench/lab"
	"muster.dev/muster/e2e/bench/quiet"
	"muster.dev/muster/e2e/bench/racks"
)

const (
	dataEnv   = "DEMO_DATA"
	seedsEnv  = "RACKS_SEEDS"
	mostSeeds = 100
)

func main() {
	quiet.Measure("benchracks", func(ctx context.Context) error { return run(ctx, os.Getenv, os.Stdout) })
}

func run(ctx context.Context, getenv func(string) string, out io.Writer) error {
	seeds, err := figures.FromEnv(getenv, seedsEnv, 2, mostSeeds)
	if err != nil {
		return err
	}
	var trace racks.Trace
	if data := getenv(dataEnv); data == "" {
		fmt.Fprintf(out, "SKIPPED: openb, since %s is not set\n\n", dataEnv)
	} else if trace, err = read(ctx, data); err != nil {
		return fmt.Errorf("%s=%s: %w", dataEnv, data, err)
	}
	return racks.Compare(ctx, out, trace, seeds)
}

func read(ctx context.Context, data string) (racks.Trace, error) {
	dir, err := lab.InRepository(ctx, data)
	if err != nil {
		return nil, err
	}
	table, err := os.Open(filepath.Join(dir, "openb_pods.csv"))
	if err != nil {
		return nil, err
	}
	defer table.Close()
	return racks.ReadOpenB(table)
}
