// Command benchcluster measures how fast pods are bound on a real control plane: by the
// stock scheduler alone, with an extender that returns what it gets, and with muster in
// its ways to choose nodes. With -affinity the pods have inter-pod anti-affinity and
// topology spread, and muster takes part with and without offload. With -placement it is
// about pods that muster nominates, with such constraints and without, in all the ways in
// which they may arrive. With -ahead the scheduler does not know muster, which places pods
// while they are gated, and pods that are not.
//
// One API server and one set of nodes serve all cells of a size; a cell is a contender,
// with a sample of the nodes or with all nodes scored. The sample is kube-scheduler's own,
// or as large as `muster scheduler-config` has it be. Each round runs
// every cell once, in an order that rotates, so that a machine that slows down slows
// all of them. A cell creates its pods, then starts its extender and its scheduler, and
// counts the pods between the first and the last binding that the API server reports;
// that leaves starting and syncing out. Then it checks where the pods are. There is no
// KWOK and no controller at work meanwhile: nodes are created ready, bound pods just stay.
//
// Other ways to arrive: pods are nominated before the scheduler starts, and how long
// muster needed for that since its own start is a figure; or muster and the scheduler
// start at the same moment; or both are at work when sixteen clients begin to create the
// pods, which are then counted from the first creation on.
//
// It prints a table of medians, one of what a pod costs each process, and lines `figure NAME=VALUE`; ratios
// are medians of the rounds' ratios. BENCH_SIZES, BENCH_ROUNDS and BENCH_PODS change what is measured;
// BENCH_EAGER=1 has muster nominate every pod, though it saves little.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"muster.dev/muster/e2e/bench/contender"
	"muster.dev/muster/e2e/bench/figures"
	"muster.dev/muster/e2e/bench/lab"
	"muster.dev/muster/e2e/bench/quiet"
	"muster.dev/muster/e2e/workload"
)

func main() {
	withAffinity := flag.Bool("affinity", false, "bind pods with anti-affinity and topology spread")
	ofPlacement := flag.Bool("placement", false, "bind pods that are nominated, of a backlog and while they are created")
	ofAhead := flag.Bool("ahead", false, "bind pods beside a muster that the scheduler does not know, which places the ones that are opted in")
	flag.Parse()
	trials := []trial{plain()}
	switch {
	case *ofPlacement:
		trials = placement()
	case *ofAhead:
		trials = ahead()
	case *withAffinity:
		trials = []trial{affinity()}
	}
	quiet.Measure("benchcluster", func(ctx context.Context) error { return run(ctx, trials, os.Getenv, os.Stdout) })
}

func run(ctx context.Context, trials []trial, getenv func(string) string, out io.Writer) error {
	plans := make([]plan, len(trials))
	for i, t := range trials {
		var err error
		if plans[i], err = planFromEnv(t, getenv); err != nil {
			return err
		}
	}
	programs, remove, err := contender.Build(ctx, out)
	if err != nil {
		return err
	}
	defer remove()
	eager, err := figures.FromEnv(getenv, eagerEnv, 0, 1)
	if err != nil {
		return err
	}
	programs = programs.WithEager(eager == 1)
	for i, t := range trials {
		if err := plans[i].carryOut(ctx, t, programs, out); err != nil {
			return err
		}
	}
	return nil
}

// carryOut runs a trial and prints its results.
func (p plan) carryOut(ctx context.Context, t trial, programs contender.Programs, out io.Writer) error {
	began := time.Now()
	results := results{}
	for _, size := range p.sizes {
		if err := p.measure(ctx, t, programs, size, results, out); err != nil {
			return fmt.Errorf("%d nodes: %w", size, err)
		}
	}
	fmt.Fprintf(out, "\n%d rounds in %s\n\n", p.rounds, time.Since(began).Round(time.Second))
	results.printTable(out, t, p.sizes)
	results.printCosts(out, t, p.sizes)
	results.printFigures(out, t, p.sizes)
	return nil
}

// measure runs all rounds of one size.
func (p plan) measure(ctx context.Context, t trial, programs contender.Programs, size int, results results, out io.Writer) error {
	nodes := workload.Generate(workload.Shape{Nodes: size, Seed: seed}).Nodes
	ground, err := lab.Start(ctx, lab.Options{Nodes: nodes}, out)
	if err != nil {
		return err
	}
	defer ground.Close()
	lab := laboratory{Lab: ground, programs: programs}
	if t.settled != nil {
		lab.settled = t.settled(nodes)
		settled := workload.Cluster{Pods: lab.settled}
		if err := settled.CreateWorkloads(ctx, lab.Client); err != nil {
			return err
		}
		fmt.Fprintf(out, "%d pods are on %d nodes\n", len(lab.settled), size)
	}
	cells := t.cells(size)
	for round := range p.rounds {
		for i := range cells {
			c := cells[(i+round)%len(cells)]
			came, err := lab.run(ctx, c, t.arriving(p.podsOf(t, c)))
			if err != nil {
				return fmt.Errorf("%s: %w", c, err)
			}
			results[c] = append(results[c], came)
			fmt.Fprintf(out, "round %d/%d  %-36s %5.0f pods/s\n", round+1, p.rounds, c, came.rate)
		}
	}
	return nil
}
