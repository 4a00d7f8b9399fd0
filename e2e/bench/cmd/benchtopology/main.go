// Command benchtopology measures how good the places of gangs that ask something of the network are, and how long they take.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"muster.dev/muster/e2e/bench/quiet"
	"muster.dev/muster/e2e/bench/solver"
)

// options are the flags.
type options struct {
	seed    uint64
	cases   int // instances of each kind
	solving time.Duration
}

func main() {
	var o options
	flag.Uint64Var(&o.seed, "seed", 1, "the first seed of random instances")
	flag.IntVar(&o.cases, "cases", 300, "how many instances are held against the optimum, with alike and with mixed pods each")
	flag.DurationVar(&o.solving, "solving", 10*time.Second, "how long the exact solver may take for a step of an instance")
	flag.Parse()
	quiet.Measure("benchtopology", func(ctx context.Context) error { return run(ctx, o, os.Stdout, os.Stderr) })
}

func run(ctx context.Context, o options, out, progress io.Writer) error {
	cbc := solver.Path()
	if cbc == "" {
		fmt.Fprintln(out, "There is no cbc (Debian: coinor-cbc): the optimum is searched for in smaller instances, of up to 7 nodes and 8 pods.")
	}
	for _, c := range []contest{{name: "pack_", what: "alike pods", draw: alike, plan: pack}} {
		if err := c.against(ctx, cbc, o, out, progress); err != nil {
			return err
		}
	}
	return nil
}
