package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"muster.dev/muster/e2e/bench/contender"
	"muster.dev/muster/e2e/bench/effort"
	"muster.dev/muster/e2e/bench/figures"
)

// results are the measurements of each cell, one for each round.
type results map[cell][]measurement

// of is a value of a cell, by round.
func (r results) of(c cell, value func(measurement) float64) []float64 {
	values := make([]float64, len(r[c]))
	for round, m := range r[c] {
		values[round] = value(m)
	}
	return values
}

// rates of a cell in pods per second, by round.
func (r results) rates(c cell) []float64 {
	return r.of(c, func(m measurement) float64 { return m.rate })
}

// leads of a cell in seconds, by round.
func (r results) leads(c cell) []float64 {
	return r.of(c, func(m measurement) float64 { return m.lead.Seconds() })
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
	heading := "sampled"
	if s.all {
		heading = "all scored"
	}
	heading += map[arrival]string{nominated: ", nominated before", together: ", started together", live: ", live"}[s.arrival]
	if s.optedIn {
		heading += ", opted in"
	}
	return heading
}

func title(c contender.Contender) string {
	return cmp.Or(map[contender.Contender]string{
		contender.Stock:           "stock scheduler alone",
		contender.Empty:           "with an empty extender",
		contender.Scheduler:       "with muster, nodeSelection: Scheduler",
		contender.Extender:        "with muster, nodeSelection: Muster, nothing nominated",
		contender.Nominate:        "with muster, nodeSelection: Muster",
		contender.Offload:         "with muster, offload, nothing nominated",
		contender.OffloadAll:      "the same, without preemption",
		contender.NominateOffload: "with muster, nodeSelection: Muster, offload",
		contender.Ahead:           "beside muster, gates: UntilPlace",
		contender.EmptyOffload:    "without preemption, an empty extender that returns any node",
	}[c], string(c))
}

// printFigures prints the median of each cell, of each ratio, of rates and of costs, and of each lead.
func (r results) printFigures(out io.Writer, t trial, sizes []int) {
	for _, size := range sizes {
		for _, c := range t.cells(size) {
			figures.Print(out, t.figure(c), 1, figures.Median(r.rates(c)))
		}
	}
	for _, size := range sizes {
		for _, compared := range t.ratios {
			name := strings.Replace(compared.figure, "%d", strconv.Itoa(size), 1)
			of, than := cell{compared.of, size}, cell{compared.than, size}
			figures.Print(out, name, 2, r.ratio(of, than))
			for _, cost := range effort.Costs() {
				figures.Print(out, cost.Figure+"_"+name, 2, figures.MedianRatio(r.costs(of, cost), r.costs(than, cost)))
			}
		}
		for _, lead := range t.leads {
			figures.Print(out, fmt.Sprintf(lead.figure, size), 1, figures.Median(r.leads(cell{lead.of, size})))
		}
	}
}
