package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"muster.dev/muster/e2e/contender"
)

// results are the rates of each cell, one for each round, in pods per second.
type results map[cell][]float64

func median(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	half := len(sorted) / 2
	if len(sorted)%2 == 0 {
		return (sorted[half-1] + sorted[half]) / 2
	}
	return sorted[half]
}

// ratio compares two cells round by round, since machines change from round to round,
// and returns the median.
func (r results) ratio(a, b cell) float64 {
	ratios := make([]float64, len(r[a]))
	for round := range ratios {
		ratios[round] = r[a][round] / r[b][round]
	}
	return median(ratios)
}

func (r results) printTable(out io.Writer, t trial, sizes []int) {
	fmt.Fprintln(out, "Pods bound per second, median of the rounds (lowest to highest):")
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprint(table, "\t")
	for _, size := range sizes {
		for _, all := range t.modes {
			if all {
				fmt.Fprintf(table, "%d nodes, all scored\t", size)
			} else {
				fmt.Fprintf(table, "%d nodes, sampled\t", size)
			}
		}
	}
	fmt.Fprintln(table)
	for _, name := range t.contenders {
		fmt.Fprintf(table, "%s\t", title(name))
		for _, size := range sizes {
			for _, all := range t.modes {
				c := cell{contender: name, size: size, all: all}
				fmt.Fprintf(table, "%.0f (%.0f to %.0f)\t", median(r[c]), slices.Min(r[c]), slices.Max(r[c]))
			}
		}
		fmt.Fprintln(table)
	}
	table.Flush()
	fmt.Fprintln(out)
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
	case contender.EmptyOffload:
		return "without preemption, an empty extender that returns any node"
	}
	return string(c)
}

// printFigures prints the median of each cell and of each ratio.
func (r results) printFigures(out io.Writer, t trial, sizes []int) {
	for _, size := range sizes {
		for _, c := range t.cells(size) {
			fmt.Fprintf(out, "figure %s=%.1f\n", t.figure(c), median(r[c]))
		}
	}
	for _, size := range sizes {
		for _, compared := range t.ratios {
			of, than := cell{compared.of, size, compared.all}, cell{compared.than, size, compared.all}
			fmt.Fprintf(out, "figure "+compared.figure+"=%.2f\n", size, r.ratio(of, than))
		}
	}
}
