// Command benchcluster measures how fast pods are bound on a real control plane: by the
// stock scheduler alone, with an extender that returns what it gets, and with muster in
// its two ways to choose nodes. With -affinity the pods have inter-pod anti-affinity and
// topology spread, and muster takes part with and without offload.
//
// One API server and one set of nodes serve all cells of a size; a cell is a contender,
// with the scheduler's own sampling of nodes or with all nodes scored. Each round runs
// every cell once, in an order that rotates, so that a machine that slows down slows
// all of them. A cell creates its pods, then starts its extender and its scheduler, and
// counts the pods between the first and the last binding that the API server reports;
// that leaves starting and syncing out. Then it checks where the pods are. There is no
// KWOK and no controller at work meanwhile: nodes are created ready, bound pods just stay.
//
// It prints a table of medians and lines `figure NAME=VALUE`; ratios are medians of the
// rounds' ratios. BENCH_SIZES, BENCH_ROUNDS and BENCH_PODS change what is measured.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/e2e/contender"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/workload"
)

func main() {
	withAffinity := flag.Bool("affinity", false, "bind pods with anti-affinity and topology spread")
	flag.Parse()
	trial := plain()
	if *withAffinity {
		trial = affinity()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, trial, os.Getenv, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "benchcluster:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, trial trial, getenv func(string) string, out io.Writer) error {
	plan, err := planFromEnv(trial, getenv)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "muster-benchcluster-")
	if err != nil {
		return fmt.Errorf("make a directory for programs: %w", err)
	}
	defer os.RemoveAll(dir)
	programs, err := contender.Build(ctx, dir, out)
	if err != nil {
		return err
	}
	began := time.Now()
	results := results{}
	for _, size := range plan.sizes {
		if err := plan.measure(ctx, trial, programs, size, results, out); err != nil {
			return fmt.Errorf("%d nodes: %w", size, err)
		}
	}
	fmt.Fprintf(out, "\n%d rounds in %s\n\n", plan.rounds, time.Since(began).Round(time.Second))
	results.printTable(out, trial, plan.sizes)
	results.printFigures(out, trial, plan.sizes)
	return nil
}

// measure runs all rounds of one size.
func (p plan) measure(ctx context.Context, t trial, programs contender.Programs, size int, results results, out io.Writer) error {
	cp, err := controlplane.Start(ctx, controlplane.Options{Controllers: controlplane.PodCreation(), Progress: out})
	if err != nil {
		return err
	}
	defer cp.Stop()
	client, err := kubernetes.NewForConfig(cp.RESTConfig())
	if err != nil {
		return fmt.Errorf("connect to the control plane: %w", err)
	}
	nodes := workload.Generate(workload.Shape{Nodes: size, Seed: seed})
	nodes.Ready()
	if err := nodes.CreateNodes(ctx, client); err != nil {
		return err
	}
	lab := laboratory{controlPlane: cp, programs: programs, client: client, nodes: nodes.Nodes}
	if t.settled != nil {
		lab.settled = t.settled(nodes.Nodes)
		settled := workload.Cluster{Pods: lab.settled}
		if err := settled.CreateWorkloads(ctx, client); err != nil {
			return err
		}
		fmt.Fprintf(out, "%d pods are on %d nodes\n", len(lab.settled), size)
	}
	cells := t.cells(size)
	for round := range p.rounds {
		for i := range cells {
			c := cells[(i+round)%len(cells)]
			rate, err := lab.run(ctx, c, t.backlog(p.podsOf(t, c)))
			if err != nil {
				return fmt.Errorf("%s: %w", c, err)
			}
			results[c] = append(results[c], rate)
			fmt.Fprintf(out, "round %d/%d  %-22s %5.0f pods/s\n", round+1, p.rounds, c, rate)
		}
	}
	return nil
}
