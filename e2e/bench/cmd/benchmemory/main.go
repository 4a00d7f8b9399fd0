// Command benchmemory measures what muster keeps in memory of a large cluster, and how soon it is ready there, beside the stock
// kube-scheduler, which keeps the same objects.
//
// One API server has the nodes, and pods that run on them. A round starts each program once, in an order that turns, alone with
// the API server. It is ready when its /readyz says so. Its memory is read once it has been idle for some seconds:
// the present amount, and the most until then.
//
// It prints a table of medians, and lines `figure NAME=VALUE`; ratios are medians of the rounds' ratios.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"muster.dev/muster/e2e/bench/figures"
	"muster.dev/muster/e2e/bench/quiet"
	"muster.dev/muster/e2e/process"
)

// Environment variables that change what is measured.
const (
	sizesEnv  = "BENCH_SIZES"
	roundsEnv = "BENCH_ROUNDS"

	maxNodes, maxRounds = 50_000, 100
)

func main() {
	perNode := flag.Int("pods", 30, "how many pods run on each node")
	flag.Parse()
	quiet.Measure("benchmemory", func(ctx context.Context) error { return run(ctx, *perNode, os.Getenv, os.Stdout) })
}

func run(ctx context.Context, perNode int, getenv func(string) string, out io.Writer) error {
	if perNode < 1 {
		return fmt.Errorf("-pods=%d: want at least 1", perNode)
	}
	sizes, err := figures.Sizes(getenv, sizesEnv, []int{5000}, maxNodes)
	if err != nil {
		return err
	}
	rounds, err := figures.FromEnv(getenv, roundsEnv, 3, maxRounds)
	if err != nil {
		return err
	}
	for _, nodes := range sizes {
		r, err := measure(ctx, nodes, perNode, rounds, out)
		if err != nil {
			return fmt.Errorf("%d nodes: %w", nodes, err)
		}
		r.print(out, nodes*perNode)
	}
	return nil
}

// measure runs all rounds at one size.
func measure(ctx context.Context, nodes, perNode, rounds int, out io.Writer) (results, error) {
	g, err := newGround(ctx, nodes, perNode, out)
	if err != nil {
		return nil, err
	}
	defer g.Close()
	r := results{}
	for round := range rounds {
		for i := range programs {
			p := programs[(i+round)%len(programs)]
			m, err := g.run(ctx, p)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p, err)
			}
			r[p] = append(r[p], m)
			fmt.Fprintf(out, "round %d/%d  %-14s ready after %5.1f s, %5d MB resident, %5d MB at most\n", round+1, rounds, p,
				m.ready.Seconds(), m.memory.Resident/megabyte, m.memory.Peak/megabyte)
		}
	}
	return r, nil
}

const megabyte = 1_000_000

// results are the measurements of each program, one for each round.
type results map[program][]measurement

func (r results) of(p program, value func(measurement) float64) []float64 {
	values := make([]float64, len(r[p]))
	for round, m := range r[p] {
		values[round] = value(m)
	}
	return values
}

// print prints medians and ratios for a number of pods.
func (r results) print(out io.Writer, pods int) {
	for _, q := range []struct {
		name, ratio string
		of          func(measurement) float64
	}{
		{"rss_%s_mb_%d", "rss_vs_scheduler_%d", func(m measurement) float64 { return float64(m.memory.Resident) / megabyte }},
		{"rss_peak_%s_mb_%d", "rss_peak_vs_scheduler_%d", func(m measurement) float64 { return float64(m.memory.Peak) / megabyte }},
		{"ready_%s_s_%d", "ready_vs_scheduler_%d", func(m measurement) float64 { return m.ready.Seconds() }},
	} {
		for _, p := range programs {
			figures.Print(out, fmt.Sprintf(q.name, p, pods), 1, figures.Median(r.of(p, q.of)))
		}
		figures.Print(out, fmt.Sprintf(q.ratio, pods), 2, figures.MedianRatio(r.of(musterProgram, q.of), r.of(schedulerProgram, q.of)))
	}
}

// measurement is made of one start of a program.
type measurement struct {
	ready  time.Duration
	memory process.Memory
}
