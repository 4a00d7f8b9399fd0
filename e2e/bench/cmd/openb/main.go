// Command openb places the pods of the openb trace four times, each time on a fresh control plane
// with the trace's nodes and the pods in the same order: by the stock scheduler alone, and by
// muster with every way to choose nodes. It prints how many pods were bound, how long nine tenths
// of them took, and how many would have fit and were not, and fails when muster binds fewer than
// the stock scheduler or leaves out one that fits. Then it does the same with a trace without any
// two pods alike.
//
// DEMO_DATA is the directory of the trace, relative to the root of the repository. The
// arguments name the contenders, when not all four are wanted. OPENB_ROUNDS is how often
// everything is done, 1 by default: figures are medians. OPENB_TRACES may be "trace" or
// "distinct" for one of the two.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"muster.dev/muster/e2e/bench/contender"
	"muster.dev/muster/e2e/bench/figures"
	"muster.dev/muster/e2e/bench/lab"
	"muster.dev/muster/e2e/bench/quiet"
	"muster.dev/muster/e2e/podwatch"
	"muster.dev/muster/e2e/settle"
	"muster.dev/muster/e2e/workload"
)

const (
	dataEnv   = "DEMO_DATA"
	roundsEnv = "OPENB_ROUNDS"
	tracesEnv = "OPENB_TRACES"
	seed      = 1

	mostRounds = 20
)

// choose returns the contenders with these names, in their usual order, all for no name.
func choose(names []string) ([]contender.Contender, error) {
	all := []contender.Contender{contender.Stock, contender.Scheduler, contender.Extender, contender.Nominate}
	if len(names) == 0 {
		return all, nil
	}
	for _, name := range names {
		if !slices.Contains(all, contender.Contender(name)) {
			return nil, fmt.Errorf("contender %q: want some of %v", name, all)
		}
	}
	return slices.DeleteFunc(all, func(c contender.Contender) bool { return !slices.Contains(names, string(c)) }), nil
}

func main() {
	quiet.Measure("openb", func(ctx context.Context) error { return run(ctx, os.Getenv, os.Args[1:], os.Stdout) })
}

func run(ctx context.Context, getenv func(string) string, names []string, out io.Writer) error {
	contenders, err := choose(names)
	if err != nil {
		return err
	}
	rounds, err := figures.FromEnv(getenv, roundsEnv, 1, mostRounds)
	if err != nil {
		return err
	}
	traces, err := tracesOf(getenv(tracesEnv))
	if err != nil {
		return err
	}
	data := getenv(dataEnv)
	if data == "" {
		return fmt.Errorf("%s is not set: want the directory of the openb trace, relative to the root of the repository", dataEnv)
	}
	if data, err = lab.InRepository(ctx, data); err != nil {
		return err
	}
	cluster, err := workload.LoadOpenB(data, seed)
	if err != nil {
		return fmt.Errorf("%s=%s: %w", dataEnv, data, err)
	}
	programs, remove, err := contender.Build(ctx, out)
	if err != nil {
		return err
	}
	defer remove()
	var errs []error
	for _, t := range traces {
		outcomes := outcomes{}
		for round := range rounds {
			for _, c := range contenders {
				fmt.Fprintf(out, "== %s%s, round %d of %d: %d pods on %d nodes\n", t.prefix, c, round+1, rounds, len(cluster.Pods), len(cluster.Nodes))
				o, err := place(ctx, programs, c, t.of(cluster), out)
				if err != nil {
					return fmt.Errorf("%s: %w", c, err)
				}
				outcomes[c] = append(outcomes[c], o)
			}
		}
		outcomes.print(out, t, contenders)
		errs = append(errs, outcomes.judge())
	}
	return errors.Join(errs...)
}

// place creates all pods before the scheduler starts, so that it finds them in the
// order of the trace and nobody else is at work.
func place(
	ctx context.Context, programs contender.Programs, c contender.Contender, cluster *workload.Cluster, out io.Writer,
) (*outcome, error) {
	l, err := lab.Start(ctx, lab.Options{Nodes: cluster.Nodes}, out)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	if err := cluster.CreateWorkloads(ctx, l.Client); err != nil {
		return nil, err
	}
	watch, err := podwatch.Start(ctx, l.Client)
	if err != nil {
		return nil, err
	}
	defer watch.Stop()
	stop, err := programs.Start(ctx, l.ControlPlane, c, 0)
	if err != nil {
		return nil, err
	}
	defer stop()
	patience := settle.DefaultPatience()
	patience.Total = 20 * time.Minute
	settled, err := settle.Await(ctx, l.Client, watch, len(cluster.Pods), patience, podwatch.Printer(out, len(cluster.Pods)))
	if err != nil {
		return nil, err
	}
	return &outcome{bound: settled.Bound, stranded: len(settled.Stranded), most: timeOfMost(watch.BoundAt())}, nil
}
