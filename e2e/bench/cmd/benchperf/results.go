package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"muster.dev/muster/e2e/bench/contender"
	"muster.dev/muster/e2e/bench/effort"
	"muster.dev/muster/e2e/bench/figures"
)

// slower is the ratio from which on muster counts as slower than the stock scheduler.
const slower = 0.97

// results are the measurements of each cell, one for each round.
type results map[cell][]measurement

// of is a value of a cell, by round.
func (r results) of(workload string, c contender.Contender, value func(measurement) float64) []float64 {
	var values []float64
	for _, m := range r[cell{workload, c}] {
		values = append(values, value(m))
	}
	return values
}

func rate(m measurement) float64 { return m.rate }

// ratio is the median of what a contender has of another one.
func (r results) ratio(workload string, c, than contender.Contender, value func(measurement) float64) float64 {
	return figures.MedianRatio(r.of(workload, c, value), r.of(workload, than, value))
}

func (r results) ofStock(workload string, c contender.Contender) float64 {
	return r.ratio(workload, c, contender.Stock, rate)
}

// print prints medians and what they are of stock's, and then figures.
func (r results) print(out io.Writer, workloads []scenario, contenders []contender.Contender) {
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
			rates := r.of(w.name, c, rate)
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

func (r results) printFigures(out io.Writer, workloads []scenario, contenders []contender.Contender) {
	below := 0
	for _, w := range workloads {
		for _, c := range contenders {
			if c != contender.Stock {
				figures.Print(out, fmt.Sprintf("perf_%s_%s_vs_stock", w.name, c), 2, r.ofStock(w.name, c))
			}
		}
		r.printCosts(out, w)
		ratio := r.ofStock(w.name, w.way)
		figures.Print(out, "perf_"+w.name+"_vs_stock", 2, ratio)
		if ratio < slower { // NaN is not
			below++
		}
	}
	fmt.Fprintf(out, "figure perf_workloads_below_097=%d\n", below)
}

// printCosts compares what a pod costs in the way that is recommended.
func (r results) printCosts(out io.Writer, w scenario) {
	for _, than := range []contender.Contender{contender.Stock, contender.SameSample} {
		for _, cost := range effort.Costs() {
			ratio := r.ratio(w.name, w.way, than, func(m measurement) float64 { return cost.Milliseconds(m.each) })
			figures.Print(out, fmt.Sprintf("%s_perf_%s_vs_%s", cost.Figure, w.name, than), 2, ratio)
		}
	}
}
