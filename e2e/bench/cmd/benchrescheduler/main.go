// Command benchrescheduler measures how good the plans of the rescheduler are, and how long
// they take.
//
// Against the optimum: tight clusters of 8 to 20 nodes are filled with pods of the shapes of the
// openb trace, some pods are deleted again, and 20 pods wait that fit nowhere. How many get a
// place, and how many pods are moved for them, is held against what an exact solver (CBC) finds:
// once with moves into room that is free already, once with any moves at all, whether or not they
// can be put in an order.
//
// On the whole openb cluster, filled and thinned in the same way: 100 pods of 8 GPUs wait, and the
// largest possible number of nodes is emptied. All free resources together are the bounds.
//
// On 5,000 nodes with 150,000 pods: how long it takes to plan for one pod that waits, and for
// 100.
//
// Racks: in small clusters as above, nodes of one of three racks become empty together. How many pods move for that is
// held against how many there are, at least, on as many nodes of a rack, and how often that works against how often all
// that is free on the other nodes would suffice. On 5,000 nodes: how long a plan takes for eight nodes of a rack.
//
// DEMO_DATA is the directory of the trace, relative to the root of the repository; without it
// shapes are generated. Without CBC there is nothing to hold plans against; the tests of the
// planner have an exhaustive search. It prints lines `figure NAME=VALUE`.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"muster.dev/muster/e2e/bench/figures"
	"muster.dev/muster/e2e/bench/lab"
	"muster.dev/muster/e2e/bench/quiet"
)

const dataEnv = "DEMO_DATA"

// options are the flags.
type options struct {
	cases    int           // tight clusters
	planning time.Duration // for one of them
	solving  time.Duration
	parts    string // which parts run, by their first letters
	rounds   int
	days     int
	nodes    int // of the large cluster
}

func main() {
	var o options
	flag.IntVar(&o.cases, "cases", 20, "how many tight clusters are held against the optimum, each with one hop and with several")
	flag.DurationVar(&o.planning, "planning", 3*time.Second, "how long a plan for one of them may take")
	flag.DurationVar(&o.solving, "solving", 10*time.Second, "how long the exact solver may take for one of them")
	flag.IntVar(&o.rounds, "rounds", 60, "how often a plan for one pending pod is timed")
	flag.IntVar(&o.days, "days", 5, "how many days of load are replayed")
	flag.IntVar(&o.nodes, "nodes", 5000, "how many nodes the large cluster has")
	flag.StringVar(
		&o.parts, "parts", "towdb", "what to measure: t for tight clusters, o for openb, w for 5,000 nodes, d for domains, b for balance",
	)
	flag.Parse()
	quiet.Measure("benchrescheduler", func(ctx context.Context) error { return run(ctx, o, os.Stdout, os.Stderr) })
}

func run(ctx context.Context, o options, out, progress io.Writer) error {
	data, err := lab.InRepository(ctx, os.Getenv(dataEnv))
	if err != nil {
		return err
	}
	trace, err := loadTrace(data)
	if err != nil {
		return err
	}
	if data == "" {
		fmt.Fprintf(progress, "%s is not set: shapes are generated, and nothing is said of openb\n", dataEnv)
	}
	for _, part := range o.parts {
		switch {
		case part == 't':
			err = againstOptimum(ctx, o, trace, out, progress)
		case part == 'o' && data != "":
			err = wholeTrace(ctx, trace, out, progress)
		case part == 'w':
			err = speed(ctx, o, out, progress)
		case part == 'd':
			err = freeDomains(ctx, o, trace, out, progress)
		case part == 'b':
			err = balance(ctx, o, data, out, progress)
		}
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
	}
	return nil
}

func figure(out io.Writer, name string, value float64) { figures.Print(out, name, 3, value) }
