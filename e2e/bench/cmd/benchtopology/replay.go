package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"muster.dev/muster/e2e/bench/lab"
	"muster.dev/muster/e2e/bench/racks"
)

// dataEnv names the directory of the openb trace.
const dataEnv = "DEMO_DATA"

// replay has jobs come to clusters of racks, by the rules of several schedulers.
func replay(ctx context.Context, o options, out io.Writer) error {
	if o.replays == 0 {
		return nil
	}
	var trace racks.Trace
	if data := os.Getenv(dataEnv); data == "" {
		fmt.Fprintf(out, "SKIPPED: openb, since %s is not set\n\n", dataEnv)
	} else if err := readOpenB(ctx, data, &trace); err != nil {
		return fmt.Errorf("%s=%s: %w", dataEnv, data, err)
	}
	return racks.Compare(ctx, out, trace, o.replays, o.days)
}

func readOpenB(ctx context.Context, data string, trace *racks.Trace) error {
	dir, err := lab.InRepository(ctx, data)
	if err != nil {
		return err
	}
	table, err := os.Open(filepath.Join(dir, "openb_pods.csv"))
	if err != nil {
		return err
	}
	defer table.Close()
	*trace, err = racks.ReadOpenB(table)
	return err
}
