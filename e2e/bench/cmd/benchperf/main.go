// Command benchperf measures how fast the stock scheduler binds the pods of scheduler_perf, kube-scheduler's own
// benchmark, without muster and with it. It does what scheduler_perf does, on a real control plane: nodes of the same
// size, pods that are there already, pods that are counted, and what comes and goes meanwhile. As upstream's, pods have
// no controllers; muster tells their classes by their templates. These things differ:
//
//   - counted pods wait before the scheduler starts;
//   - there are 1,000 of them, where upstream has up to 50,000;
//   - affinity within one domain is by region, so that all workloads can have the same nodes;
//   - each pod of a DaemonSet wants a node of its own;
//   - 500 nodes have devices.
//
// One control plane serves all. Each round runs every workload with every contender, in an order that rotates. A cell
// counts pods between the first and the last binding that the API server reports, and then looks whether every node
// has room for its pods. Where each pod has others evicted, which is most of the work and done before the first binding, the
// time counts from when the scheduler is ready. A contender that has not bound all pods after three minutes is given up, and has
// the rate of what it bound.
//
// It prints a table and lines `figure NAME=VALUE`. BENCH_NODES, BENCH_ROUNDS and BENCH_PODS change how much is measured,
// PERF_WORKLOADS and PERF_WAYS what: names separated by commas, as the table has them.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"muster.dev/muster/e2e/bench/contender"
	"muster.dev/muster/e2e/bench/quiet"
)

func main() {
	quiet.Measure("benchperf", func(ctx context.Context) error { return run(ctx, os.Getenv, os.Stdout) })
}

func run(ctx context.Context, getenv func(string) string, out io.Writer) error {
	p, err := planFromEnv(getenv)
	if err != nil {
		return err
	}
	programs, remove, err := contender.Build(ctx, out)
	if err != nil {
		return err
	}
	defer remove()
	// As docs/concepts/equivalence-classes.md recommends for pods without a controller.
	g, err := newGround(ctx, programs.WithProfile(map[string]any{"equivalence": "Template"}), p.nodes, out)
	if err != nil {
		return err
	}
	defer g.Close()
	began := time.Now()
	results := results{}
	for round := range p.rounds {
		for _, w := range p.workloads {
			err := g.run(w, p.pods, p.order(w, round), func(c cell, came measurement) {
				results[c] = append(results[c], came)
				fmt.Fprintf(out, "%6s  round %d/%d  %-28s %-10s %5.0f pods/s\n",
					time.Since(began).Round(time.Second), round+1, p.rounds, c.workload, c.contender, came.rate)
			})
			if err != nil {
				return err
			}
		}
	}
	results.print(out, p.workloads, p.all())
	return nil
}
