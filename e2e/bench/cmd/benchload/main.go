// Command benchload replays measured CPU usage on pods that arrive in bursts, on a simulated
// cluster, and prints what becomes of nodes with muster and with other rules: how long they are
// overloaded, the highest utilisation, how evenly load is spread and how many pods are left
// pending. It fails when muster does worse than the same formula inside a scheduler.
//
// Usage comes from a table of traces that LOAD_TRACES names, relative to the root of the
// repository: a row for each machine, with its name and its CPU usage in percent every 5 minutes.
// Without one, and that is said loudly, it comes from a generator. LOAD_SEEDS is how many
// workloads are drawn, 10 by default.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"muster.dev/muster/e2e/bench/figures"
	"muster.dev/muster/e2e/bench/lab"
	"muster.dev/muster/e2e/bench/loadreplay"
	"muster.dev/muster/e2e/bench/quiet"
)

const (
	tracesEnv = "LOAD_TRACES"
	seedsEnv  = "LOAD_SEEDS"
	mostSeeds = 1000
)

func main() {
	quiet.Measure("benchload", func(ctx context.Context) error { return run(ctx, os.Getenv, os.Stdout) })
}

func run(ctx context.Context, getenv func(string) string, out io.Writer) error {
	count, err := figures.FromEnv(getenv, seedsEnv, 10, mostSeeds)
	if err != nil {
		return err
	}
	traces, err := readTraces(ctx, getenv(tracesEnv), out)
	if err != nil {
		return err
	}
	comparison, err := loadreplay.Compare(
		ctx, loadreplay.Contenders(), []loadreplay.Plan{loadreplay.NewPlan(3), loadreplay.NewPlan(40)}, traces, count,
	)
	if err != nil {
		return err
	}
	comparison.Print(out)
	if missed := comparison.Judge(); len(missed) > 0 {
		return errors.New(strings.Join(missed, "; "))
	}
	return nil
}

func readTraces(ctx context.Context, file string, out io.Writer) (loadreplay.Traces, error) {
	if file == "" {
		return generated(out, tracesEnv+" is not set"), nil
	}
	path, err := lab.InRepository(ctx, file)
	if err != nil {
		return nil, err
	}
	table, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return generated(out, fmt.Sprintf("%s=%s is not there", tracesEnv, file)), nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", tracesEnv, err)
	}
	defer table.Close()
	traces, err := loadreplay.ReadTraces(table)
	if err != nil {
		return nil, fmt.Errorf("%s=%s: %w", tracesEnv, file, err)
	}
	fmt.Fprintf(out, "usage of %d machines from %s\n\n", len(traces), filepath.Base(file))
	return traces, nil
}

func generated(out io.Writer, why string) loadreplay.Traces {
	fmt.Fprintf(out, "SKIPPED: measured usage, since %s. What follows is with GENERATED usage.\n\n", why)
	return loadreplay.GenerateTraces(1000, rand.New(rand.NewPCG(1, 1)))
}
