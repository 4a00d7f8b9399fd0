// Command benchauto measures what the rescheduler does by itself, in mode Auto, beside a real control plane with KWOK.
//
// Part c, consolidation: 41 workloads of ten pods are spread over 500 nodes, and the policy Coalesce empties nodes with no
// budgets to wait for. The time is from the start of the rescheduler until no more nodes are in use than the pods need.
//
// Part d, a day: workloads grow and shrink as over a day, and come and go, on nodes that a stand-in for Cluster Autoscaler
// adds and removes. The day is lived twice, without and with the rescheduler in mode Auto. Time is accelerated: all
// durations of the configuration and of the stand-in are divided by the same factor, except the times that a control plane
// needs by itself. Held against each other are the pods that waited for long, the workloads that fell below what their
// PodDisruptionBudget asks for, and how long nodes were there.
//
// It prints lines `figure NAME=VALUE`.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"muster.dev/muster/e2e/bench/quiet"
)

// options are the flags.
type options struct {
	parts string
	nodes int
	day   time.Duration
	hours int
	seed  uint64
}

const shortestDay = 2 * time.Minute

func main() {
	var o options
	flag.StringVar(&o.parts, "parts", "cd", "what to measure: c for consolidation, d for a day")
	flag.IntVar(&o.nodes, "nodes", 500, "how many nodes there are to consolidate")
	flag.DurationVar(&o.day, "day", 12*time.Minute, "how long a day takes")
	flag.IntVar(&o.hours, "hours", hoursOfDay, "how many hours of the day are lived")
	flag.Uint64Var(&o.seed, "seed", 1, "draws the workloads of the day")
	flag.Parse()
	quiet.Measure("benchauto", func(ctx context.Context) error { return run(ctx, o, os.Stdout) })
}

func run(ctx context.Context, o options, out io.Writer) error {
	if o.nodes < workloads || o.nodes > 5000 {
		return fmt.Errorf("-nodes=%d: want a number from %d to 5000", o.nodes, workloads)
	}
	if o.day < shortestDay {
		return fmt.Errorf("-day=%s: want at least %s: a control plane is not faster", o.day, shortestDay)
	}
	if o.hours < 1 || o.hours > hoursOfDay {
		return fmt.Errorf("-hours=%d: want a number from 1 to %d", o.hours, hoursOfDay)
	}
	for _, part := range o.parts {
		var err error
		switch part {
		case 'c':
			err = consolidate(ctx, o.nodes, out)
		case 'd':
			err = compareDays(ctx, o, out)
		default:
			return fmt.Errorf("-parts=%s: there is no part %c", o.parts, part)
		}
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
	}
	return nil
}
