package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"muster.dev/muster/e2e/bench/effort"
	"muster.dev/muster/e2e/bench/figures"
)

// printCosts prints what a pod has cost, in milliseconds: medians of the rounds.
func (r results) printCosts(out io.Writer, t trial, sizes []int) {
	var columns []effort.Cost
	for _, p := range effort.Parts() {
		columns = append(columns, effort.Cost{Title: string(p), Of: func(each effort.PerPod) time.Duration { return each.CPU[p] }})
	}
	columns = append(columns, effort.Costs()...)
	fmt.Fprintln(out, "Milliseconds of a processor for each pod, and of kube-scheduler's cycles and attempts, median of the rounds:")
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', tabwriter.AlignRight)
	for _, column := range columns {
		fmt.Fprintf(table, "\t%s", column.Title)
	}
	fmt.Fprint(table, "\t\n")
	for _, size := range sizes {
		for _, c := range t.cells(size) {
			fmt.Fprint(table, c)
			for _, column := range columns {
				fmt.Fprintf(table, "\t%.2f", figures.Median(r.costs(c, column)))
			}
			fmt.Fprint(table, "\t\n")
		}
	}
	table.Flush()
	fmt.Fprintln(out)
}

// costs of a cell in milliseconds, by round.
func (r results) costs(c cell, of effort.Cost) []float64 {
	return r.of(c, func(m measurement) float64 { return of.Milliseconds(m.each) })
}
