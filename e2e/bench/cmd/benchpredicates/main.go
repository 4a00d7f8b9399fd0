// Command benchpredicates measures what remembered verdicts save, on the pods that are
// the most work to judge: those with required anti-affinity by hostname and topology
// spread over zones (DoNotSchedule). Ten pods run on each node, half of them of
// Deployments with these constraints, and one node changes before every evaluation: a pod
// of another Deployment comes to it or goes from it.
//
// In the process, on 5,000 nodes, in turn: a verdict on every node from a verdict store,
// which has to bring a class up to date (cached); the same judged afresh (full); the same
// by kube-scheduler's framework with its plugins of the same names, PreFilter and Filter
// in one goroutine (in-tree). All three must agree. The profile has all default filters
// and no scores. Memory and allocations are measured with a class of the default profile.
//
// Over HTTP on loopback, with connections kept alive: the filter verb as served with the
// default configuration, on all names of 5,000 and of 15,000 nodes in turn.
//
// It prints lines `figure NAME=VALUE`: times in microseconds, medians; ratios are medians
// of the rounds' ratios.
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

// callsPerRound is how often filter is called while everything is measured once.
const callsPerRound = 5

// leastNodes have a zone with room for the replicas of a Deployment.
const leastNodes = 500

func main() {
	rounds := flag.Int("rounds", 100, "how often everything is measured")
	size := flag.Int("nodes", 5000, "size of the cluster; filter is served on a cluster of three times this size as well")
	flag.Parse()
	quiet.Measure("benchpredicates", func(ctx context.Context) error { return run(ctx, *rounds, *size, os.Stdout, os.Stderr) })
}

func run(ctx context.Context, rounds, size int, out, progress io.Writer) error {
	if rounds < 1 {
		return fmt.Errorf("-rounds: %d is no number of rounds", rounds)
	}
	if size < leastNodes {
		return fmt.Errorf("-nodes: want at least %d, so that constraints decide something", leastNodes)
	}
	largerSize := 3 * size
	fmt.Fprintf(progress, "judging a pod on %d nodes, %d rounds\n", size, rounds)
	e, err := newEvaluation(ctx, newInput(size))
	if err != nil {
		return err
	}
	m, err := e.run(ctx, rounds)
	if err != nil {
		return err
	}
	figure := func(name string, value float64) { figures.Print(out, name, 2, value) }
	figure(fmt.Sprintf("cached_speedup_%d", size), m.other.full.over(m.other.cached))
	figure(fmt.Sprintf("cached_us_%d", size), m.other.cached.microseconds())
	figure(fmt.Sprintf("cached_own_speedup_%d", size), m.own.full.over(m.own.cached))
	figure(fmt.Sprintf("cached_own_us_%d", size), m.own.cached.microseconds())
	figure(fmt.Sprintf("full_us_%d", size), m.full.microseconds())
	figure(fmt.Sprintf("full_vs_intree_%d", size), m.inTree.over(m.full))
	figure("bytes_per_class_node", m.bytesPerNode)
	figure("allocs_per_hit", m.allocations)

	calls := callsPerRound * rounds
	fmt.Fprintf(progress, "calling filter on %d and on %d nodes, %d times each\n", size, largerSize, calls)
	filters, err := serveFilters(ctx, []int{size, largerSize}, calls, progress)
	if err != nil {
		return err
	}
	figure(fmt.Sprintf("cached_filter_us_%d", size), filters[0].microseconds())
	figure(fmt.Sprintf("cached_filter_us_%d", largerSize), filters[1].microseconds())
	figure(fmt.Sprintf("filter_growth_%d", largerSize), filters[1].over(filters[0]))
	return nil
}
