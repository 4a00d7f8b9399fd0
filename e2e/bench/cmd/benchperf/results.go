package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"muster.dev/muster/e2e/bench/contender"
	"muster.dev/muster/e2e/bench/figures"
)

// slower is the ratio from which on muster counts as slower than the stock scheduler.
const slower = 0.95

// rates are pods per second of each cell, one for each round.
type rates map[cell][]float64

// print prints medians and what they are of stock's, and then figures.
func (r rates) print(out io.Writer, workloads []scenario, contenders []contender.Contender) {
	fmt.Fprint(out, "\nPods bound per second, median of the rounds, and what that is of the stock scheduler's;\n"+
		"* the way that is recommended for such pods:\n\n")
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', tabwriter.AlignRight)
	for _, c := range contenders {
		fmt.Fprintf(table, "\t%s", c)
	}
	fmt.Fprint(table, "\t\n")
	for _, w := range workloads {
		fmt.Fprint(table, w.name)
		for _, c := range contenders {
			rates := r[cell{w.name, c}]
			if len(rates) == 0 {
				fmt.Fprint(table, "\t")
				continue
			}
			fmt.Fprintf(table, "\t%.0f", figures.Median(rates))
			if c != contender.Stock {
				fmt.Fprintf(table, " (%.2f%s)", r.ofStock(w.name, c), mark(w, c))
			}
		}
		fmt.Fprint(table, "\t\n")
	}
	table.Flush()
	fmt.Fprintln(out)
	r.printFigures(out, workloads, contenders)
}

func mark(w scenario, c contender.Contender) string {
	if c == w.way {
		return "*"
	}
	return ""
}

func (r rates) ofStock(workload string, c contender.Contender) float64 {
	return figures.MedianRatio(r[cell{workload, c}], r[cell{workload, contender.Stock}])
}

func (r rates) printFigures(out io.Writer, workloads []scenario, contenders []contender.Contender) {
	below := 0
	for _, w := range workloads {
		for _, c := range contenders {
			if c != contender.Stock {
				figures.Print(out, fmt.Sprintf("perf_%s_%s_vs_stock", w.name, c), 2, r.ofStock(w.name, c))
			}
		}
		ratio := r.ofStock(w.name, w.way)
		figures.Print(out, "perf_"+w.name+"_vs_stock", 2, ratio)
		if ratio < slower { // NaN is not
			below++
		}
	}
	fmt.Fprintf(out, "figure perf_workloads_below_095=%d\n", below)
}
