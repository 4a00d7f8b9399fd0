// Command benchtopology measures how good the places of gangs that ask something of the network are, and how long they take.
//
// Against the optimum: random clusters of 8 to 64 nodes in zones, blocks and racks, and gangs that name one to three of these
// levels, ask for all sorts of required and balanced levels and of slices, and may have pods there already. Once pods are alike and
// divided by the number that has room on each node (pack), and once they are of one to three kinds and placed as a gang is, on a
// snapshot and by all predicates; slices are for one kind, and workers may have to keep apart. An exact solver (CBC) says in how many
// domains there is room for all, in the order of the levels, and with which imbalance at the least: that is the sum of the squares
// of what the domains of the balanced level have, among all places with as few domains of each level. Figures are sums over
// instances divided by the sums of the optimum: gangs that are placed, domains at the lowest level of labels, and imbalance where as few
// domains are used. Instances that are worse are named. Without CBC, smaller instances are searched whole.
//
// How long plans take, from the pods to their places: 512 pods on 5,000 nodes and 4,000 on 15,000, which are empty or have any
// number of their GPUs free. The pods prefer all three levels, or require a zone as well, or slices of 32 in blocks and of 16 in
// racks as well, or balance over racks instead. Each gang is of a new Job. topology_512_ms and topology_4000_ms are the slowest
// of these medians, without balance.
//
// Against the rules of others: jobs of several pods and of one, drawn and of openb's trace (DEMO_DATA is its directory, relative to
// the root of the repository), come to racks and end in simulated time, see package racks.
//
// It prints lines `figure NAME=VALUE`.
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
	rounds  int
	scale   int // by which clusters and gangs are smaller
	replays int // seeds of the jobs that are replayed
	days    int // that drawn jobs come
}

// mostScale leaves gangs no fewer pods than one slice.
const mostScale = 16

func main() {
	var o options
	flag.Uint64Var(&o.seed, "seed", 1, "the first seed of random instances")
	flag.IntVar(&o.cases, "cases", 300, "how many instances are held against the optimum, with alike and with mixed pods each")
	flag.DurationVar(&o.solving, "solving", 10*time.Second, "how long the exact solver may take for a step of an instance")
	flag.IntVar(&o.rounds, "rounds", 7, "how often each plan is timed")
	flag.IntVar(&o.scale, "scale", 1, "how many times smaller the clusters and gangs are whose plans are timed")
	flag.IntVar(&o.replays, "replays", 2, "for how many seeds jobs are replayed by the rules of others, 0 for none")
	flag.IntVar(&o.days, "days", 6, "for how many days drawn jobs come in a replay")
	flag.Parse()
	if o.scale < 1 || o.scale > mostScale {
		fmt.Fprintf(os.Stderr, "benchtopology: -scale: want a number from 1 to %d\n", mostScale)
		os.Exit(1)
	}
	quiet.Measure("benchtopology", func(ctx context.Context) error { return run(ctx, o, os.Stdout, os.Stderr) })
}

func run(ctx context.Context, o options, out, progress io.Writer) error {
	cbc := solver.Path()
	if cbc == "" {
		fmt.Fprintln(out, "There is no cbc (Debian: coinor-cbc): the optimum is searched for in smaller instances, of up to 7 nodes and 8 pods.")
	}
	for _, c := range []contest{
		{name: "pack_", what: "alike pods divided by slots", draw: alike, plan: pack},
		{what: "pods of several kinds placed by all predicates", draw: mixed, plan: plan},
	} {
		if err := c.against(ctx, cbc, o, out, progress); err != nil {
			return err
		}
	}
	if err := speed(ctx, o, out, progress); err != nil {
		return err
	}
	return replay(ctx, o, out)
}
