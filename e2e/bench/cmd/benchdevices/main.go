// Command benchdevices measures what devices cost, on nodes with 8 each. Claims hold half of them.
//
// In the process, on 500 and on 5,000 nodes: the predicate DynamicResources for a pod that claims one device, afresh on
// every node; the filters of a pod that is remembered, after a claim was allocated on one node (cached), and the plan of a
// gang of 512 such pods, on 500 nodes that are free.
//
// On a real control plane, in turn: the time until a gang of 64 pods is bound whose claims are made by a template, with
// muster choosing the nodes, and until 64 single pods are that a stock kube-scheduler places alone.
//
// It prints lines `figure NAME=VALUE`: medians.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"

	"muster.dev/muster/e2e/bench/figures"
	"muster.dev/muster/e2e/bench/quiet"
)

const (
	devicesPerNode = 8
	gangOfAPlan    = 512
	gangOfARun     = 64
)

func main() {
	rounds := flag.Int("rounds", 5, "how often everything is measured")
	nodes := flag.Int("nodes", 500, "how many nodes there are; a verdict is measured on ten times this number as well")
	flag.Parse()
	quiet.Measure("benchdevices", func(ctx context.Context) error { return run(ctx, *rounds, *nodes, os.Stdout, os.Stderr) })
}

func run(ctx context.Context, rounds, nodes int, out, progress io.Writer) error {
	if rounds < 1 {
		return fmt.Errorf("-rounds: %d is no number of rounds", rounds)
	}
	const free = devicesPerNode / 2
	if nodes < gangOfAPlan/free {
		return fmt.Errorf("-nodes: %d have too few devices for a gang of %d", nodes, gangOfAPlan)
	}
	for _, nodes := range []int{nodes, 10 * nodes} {
		fmt.Fprintf(progress, "judging a pod that claims a device on %d nodes\n", nodes)
		j, err := newJudging(nodes)
		if err != nil {
			return err
		}
		fresh, cached, err := j.measure(rounds)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "figure device_filter_us_per_node_%d=%.1f\n", nodes, fresh.Seconds()*1e6/float64(nodes))
		fmt.Fprintf(out, "figure device_cached_speedup_%d=%.0f\n", nodes, fresh.Seconds()/cached.Seconds())
	}
	fmt.Fprintf(progress, "planning a gang of %d\n", gangOfAPlan)
	plan, err := measurePlan(rounds, nodes)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "figure device_plan_512_ms=%.0f\n", plan.Seconds()*1e3)

	g, err := newGround(ctx, nodes, gangOfARun, progress)
	if err != nil {
		return err
	}
	defer g.Close()
	var ratios []float64
	for round := range rounds {
		stock, err := g.single(ctx)
		if err != nil {
			return fmt.Errorf("single pods with stock: %w", err)
		}
		gang, err := g.gang(ctx)
		if err != nil {
			return fmt.Errorf("a gang with muster: %w", err)
		}
		fmt.Fprintf(progress, "round %d: %d single pods %.2fs, a gang of them %.2fs\n", round, gangOfARun, stock.Seconds(), gang.Seconds())
		ratios = append(ratios, gang.Seconds()/stock.Seconds())
	}
	fmt.Fprintf(out, "figure device_gang_64_vs_stock=%.2f\n", figures.Quantile(ratios, 50))
	return nil
}
