// Command benchverbs measures muster's filter and prioritize over HTTP on loopback
// against an empty extender (encoding/json, returns what it got), call by call in
// turn, and prints a table and lines `figure NAME=VALUE`.
//
// Both run as processes of their own, built from this checkout. muster answers from
// a snapshot of a seeded cluster, so that nothing but the verbs is measured.
//
// BENCH_BEFORE is the path of another build of muster, which is measured side by side. BENCH_SIZES are the numbers of node
// names in a call, separated by commas.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"muster.dev/muster/e2e/bench/contender"
	"muster.dev/muster/e2e/bench/figures"
	"muster.dev/muster/e2e/bench/quiet"
)

func main() {
	calls := flag.Int("calls", 300, "calls of each verb on each extender at each size")
	flag.Parse()
	quiet.Measure("benchverbs", func(ctx context.Context) error { return run(ctx, *calls, os.Getenv, os.Stdout) })
}

const (
	sizesEnv = "BENCH_SIZES"
	maxNodes = 50_000
)

func run(ctx context.Context, calls int, getenv func(string) string, out io.Writer) error {
	sizes, err := figures.Sizes(getenv, sizesEnv, []int{100, 1000, 5000, 15000}, maxNodes)
	if err != nil {
		return err
	}
	if calls < 10 {
		return fmt.Errorf("-calls: %d is too few for a median; take 10 or more", calls)
	}
	dir, err := os.MkdirTemp("", "muster-benchverbs-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	input := newInput(slices.Max(sizes))
	before := getenv(contender.BeforeEnv)
	targets, stop, err := startTargets(ctx, dir, before, input)
	defer stop()
	if err != nil {
		return err
	}

	table := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "nodes\tverb\textender\tp50\tp99\tp50 ÷ empty\tallocations a call\t")
	lines := new(bytes.Buffer)
	for _, size := range sizes {
		for _, verb := range []string{"filter", "prioritize"} {
			body, err := input.body(size)
			if err != nil {
				return err
			}
			results, err := measure(ctx, targets, verb, body, calls)
			if err != nil {
				return err
			}
			empty := results[0].quantile(0.5)
			for i, r := range results {
				p50, p99 := r.quantile(0.5), r.quantile(0.99)
				fmt.Fprintf(table, "%d\t%s\t%s\t%v\t%v\t%.3f\t%s\t\n", size, verb, targets[i].name, p50, p99, ratio(p50, empty), r.allocationText())
			}
			say := func(of, than int, name string) {
				value := ratio(results[of].quantile(0.5), results[than].quantile(0.5))
				figures.Print(lines, fmt.Sprintf("%s_%s_%d", verb, name, size), 3, value)
			}
			say(1, 0, "p50_ratio")
			figures.Print(lines, fmt.Sprintf("%s_allocs_%d", verb, size), 0, results[1].allocations)
			if verb == "filter" {
				say(2, 0, "extender_p50_ratio")
			}
			if before != "" {
				say(1, 3, "p50_vs_before")
				say(2, 4, "extender_p50_vs_before")
			}
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	_, err = lines.WriteTo(out)
	return err
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }
