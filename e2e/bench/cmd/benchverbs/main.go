// Command benchverbs measures muster's filter and prioritize over HTTP on loopback
// against an empty extender (encoding/json, returns what it got), call by call in
// turn, and prints a table and lines `figure NAME=VALUE`.
//
// Both run as processes of their own, built from this checkout. muster answers from
// a snapshot of a seeded cluster, so that nothing but the verbs is measured.
//
// BENCH_BEFORE is the path of another build of muster, which is measured side by side.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"muster.dev/muster/e2e/bench/contender"
	"muster.dev/muster/e2e/bench/quiet"
)

func main() {
	calls := flag.Int("calls", 300, "calls of each verb on each extender at each size")
	flag.Parse()
	quiet.Measure("benchverbs", func(ctx context.Context) error { return run(ctx, *calls, os.Stdout) })
}

// sizes are the numbers of node names in a call.
var sizes = []int{100, 1000, 5000, 15000}

func run(ctx context.Context, calls int, out io.Writer) error {
	if calls < 10 {
		return fmt.Errorf("-calls: %d is too few for a median; take 10 or more", calls)
	}
	dir, err := os.MkdirTemp("", "muster-benchverbs-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	input := newInput(slices.Max(sizes))
	before := os.Getenv(contender.BeforeEnv)
	targets, stop, err := startTargets(ctx, dir, before, input)
	defer stop()
	if err != nil {
		return err
	}

	table := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "nodes\tverb\textender\tp50\tp99\tp50 ÷ empty\tallocations a call\t")
	var figures []string
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
			figures = append(figures, fmt.Sprintf("figure %s_p50_ratio_%d=%.3f", verb, size, ratio(results[1].quantile(0.5), empty)),
				fmt.Sprintf("figure %s_allocs_%d=%.0f", verb, size, results[1].allocations))
			if verb == "filter" {
				figures = append(figures, fmt.Sprintf("figure filter_extender_p50_ratio_%d=%.3f", size, ratio(results[2].quantile(0.5), empty)))
			}
			if before != "" {
				figures = append(figures,
					fmt.Sprintf("figure %s_p50_vs_before_%d=%.3f", verb, size, ratio(results[1].quantile(0.5), results[3].quantile(0.5))),
					fmt.Sprintf("figure %s_extender_p50_vs_before_%d=%.3f", verb, size, ratio(results[2].quantile(0.5), results[4].quantile(0.5))))
			}
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out, "\n"+strings.Join(figures, "\n"))
	return nil
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }
