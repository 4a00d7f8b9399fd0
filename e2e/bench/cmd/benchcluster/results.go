package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"muster.dev/muster/e2e/bench/contender"
	"muster.dev/muster/e2e/bench/figures"
)

// results are the measurements of each cell, one for each round.
type results map[cell][]measurement

// rates of a cell in pods per second, by round.
func (r results) rates(c cell) []float64 {
	rates := make([]float64, len(r[c]))
	for round, m := range r[c] {
		rates[round] = m.rate
	}
	return rates
}

// leads of a cell in seconds, by round.
func (r results) leads(c cell) []float64 {
	leads := make([]float64, len(r[c]))
	for round, m := range r[c] {
		leads[round] = m.lead.Seconds()
	}
	return leads
}

// ratio is the median of what a cell has of another one.
func (r results) ratio(a, b cell) float64 { return figures.MedianRatio(r.rates(a), r.rates(b)) }

func (r results) printTable(out io.Writer, t trial, sizes []int) {
	fmt.Fprintln(out, "Pods bound per second, median of the rounds (lowest to highest):")
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprint(table, "\t")
	for _, size := range sizes {
		for _, s := range t.settings() {
			fmt.Fprintf(table, "%d nodes, %s\t", size, s.heading())
		}
	}
	fmt.Fprintln(table)
	for _, name := range t.contenders() {
		fmt.Fprintf(table, "%s\t", title(name))
		for _, size := range sizes {
			for _, s := range t.settings() {
				if rates := r.rates(cell{entry{name, s}, size}); len(rates) > 0 {
					fmt.Fprintf(table, "%.0f (%.0f to %.0f)", figures.Median(rates), slices.Min(rates), slices.Max(rates))
				}
				fmt.Fprint(table, "\t")
			}
		}
		fmt.Fprintln(table)
	}
	table.Flush()
	fmt.Fprintln(out)
}

// heading of a column.
func (s setting) heading() string {
	scored := "sampled"
	if s.all {
		scored = "all scored"
	}
	switch s.arrival {
	case backlog:
		return scored
	case nominated:
		return scored + ", nominated before"
	case together:
		return scored + ", started together"
	case live:
		if s.optedIn {
			return scored + ", live, opted in"
		}
		return scored + ", live"
	}
	return scored + ", " + string(s.arrival)
}

func title(c contender.Contender) string {
	switch c {
	case contender.Stock:
		return "stock scheduler alone"
	case contender.Empty:
		return "with an empty extender"
	case contender.Scheduler:
		return "with muster, nodeSelection: Scheduler"
	case contender.Extender:
		return "with muster, nodeSelection: Extender"
	case contender.Nominate:
		return "with muster, nodeSelection: Nominate"
	case contender.Offload:
		return "with muster, nodeSelection: Extender, offload"
	case contender.OffloadAll:
		return "the same, without preemption"
	case contender.NominateOffload:
		return "with muster, nodeSelection: Nominate, offload"
	case contender.Ahead:
		return "beside muster, nodeSelection: Ahead"
	case contender.AheadPin:
		return "beside muster, Ahead, reserve: Pin"
	case contender.EmptyOffload:
		return "without preemption, an empty extender that returns any node"
	}
	return string(c)
}

// printFigures prints the median of each cell, of each ratio and of each lead.
func (r results) printFigures(out io.Writer, t trial, sizes []int) {
	for _, size := range sizes {
		for _, c := range t.cells(size) {
			fmt.Fprintf(out, "figure %s=%.1f\n", t.figure(c), figures.Median(r.rates(c)))
		}
	}
	for _, size := range sizes {
		for _, compared := range t.ratios {
			name := strings.Replace(compared.figure, "%d", strconv.Itoa(size), 1)
			fmt.Fprintf(out, "figure %s=%.2f\n", name, r.ratio(cell{compared.of, size}, cell{compared.than, size}))
		}
		for _, lead := range t.leads {
			fmt.Fprintf(out, "figure "+lead.figure+"=%.1f\n", size, figures.Median(r.leads(cell{lead.of, size})))
		}
	}
}
