package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"muster.dev/muster/e2e/bench/contender"
	"muster.dev/muster/e2e/bench/figures"
)

// cell is one thing that is measured.
type cell struct {
	name      string // of the case
	contender contender.Contender
}

// measurement is the outcome of a cell in one round. A figure that its case does not measure is 0.
type measurement struct {
	// took is from the creation of the first pod until the last gang that can start is whole.
	took time.Duration
	// effort is the CPU time of everything that was at work meanwhile.
	effort time.Duration
	// writes is how many requests were made to write to a member.
	writes float64
	// whole is how many mixed gangs were bound whole.
	whole int
	// partial is how many gangs were bound in part at the end.
	partial int
	// waiting is the cost of gangs waiting.
	waiting costs
	// room is the room that muster kept for gangs and gave to them.
	room room
	// beside and alone are the 99th percentile of the time that pods without a gang took, with
	// gangs that wait and without.
	beside, alone time.Duration
}

func (m measurement) String() string {
	text := fmt.Sprintf("%6.2fs  %d partial", m.took.Seconds(), m.partial)
	if m.whole > 0 {
		text += fmt.Sprintf("  %d whole", m.whole)
	}
	if m.effort > 0 {
		text += fmt.Sprintf("  %.2f CPU seconds", m.effort.Seconds())
	}
	if m.writes > 0 {
		text += fmt.Sprintf("  %.2f writes per member", m.writes)
	}
	if m.waiting != (costs{}) {
		text += fmt.Sprintf("  waiting: %.2f CPU seconds, %d failed attempts", m.waiting.cpu.Seconds(), m.waiting.failed)
	}
	if m.room.taken > 0 {
		text += fmt.Sprintf("  idle: %.1f of %.1f pod seconds", m.room.idle, m.room.taken)
	}
	if m.beside > 0 {
		text += fmt.Sprintf("  neighbours' p99: %s, alone %s", m.beside.Round(10*time.Microsecond), m.alone.Round(10*time.Microsecond))
	}
	return text
}

// results are the measurements of each cell, one for each round.
type results map[cell][]measurement

// of returns a figure from each measurement of a cell.
func (r results) of(c cell, value func(measurement) float64) []float64 {
	values := make([]float64, len(r[c]))
	for round, m := range r[c] {
		values[round] = value(m)
	}
	return values
}

func seconds(m measurement) float64 { return m.took.Seconds() }
func effort(m measurement) float64  { return m.effort.Seconds() }
func cpu(m measurement) float64     { return m.waiting.cpu.Seconds() }
func failed(m measurement) float64  { return float64(m.waiting.failed) }
func writes(m measurement) float64  { return m.writes }
func whole(m measurement) float64   { return float64(m.whole) }
func delay(m measurement) float64   { return m.beside.Seconds() / m.alone.Seconds() }

// dividing compares round by round, since machines change from round to round.
func dividing(these, by []float64) []float64 {
	ratios := slices.Clone(these[:min(len(these), len(by))])
	for round := range ratios {
		ratios[round] /= by[round]
	}
	return ratios
}

func adding(a, b []float64) []float64 {
	sums := slices.Clone(a[:min(len(a), len(b))])
	for round := range sums {
		sums[round] += b[round]
	}
	return sums
}

func title(c contender.Contender) string {
	switch c {
	case contender.Stock:
		return "none"
	case withMuster:
		return "muster"
	default:
		return string(c)
	}
}

func (r results) printTable(out io.Writer, cases []benchCase) {
	fmt.Fprintln(out, "Medians of the rounds (lowest to highest):")
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "case\tcontender\tseconds\tpods/s\tCPU seconds\twaiting: CPU seconds\tfailed attempts\tneighbours' p99 in ms\talone\t")
	for _, c := range cases {
		pods := float64(c.gangs.count * c.gangs.size)
		for _, who := range c.contenders {
			at := cell{c.name, who}
			columns := []string{c.name, title(who), spread(r.of(at, seconds), "%.2f"), "", "", "", "", "", ""}
			switch c.name {
			case caseMany, caseThousand:
				columns[3] = spread(r.of(at, func(m measurement) float64 { return pods / m.took.Seconds() }), "%.0f")
				columns[4] = spread(r.of(at, effort), "%.1f")
			case caseStandoff:
				columns[5], columns[6] = spread(r.of(at, cpu), "%.2f"), spread(r.of(at, failed), "%.0f")
			case caseNeighbours:
				columns[7] = spread(r.of(at, func(m measurement) float64 { return 1000 * m.beside.Seconds() }), "%.1f")
				columns[8] = spread(r.of(at, func(m measurement) float64 { return 1000 * m.alone.Seconds() }), "%.1f")
			}
			fmt.Fprintln(table, strings.Join(columns, "\t")+"\t")
		}
	}
	table.Flush()
	fmt.Fprintln(out)
}

// spread is the median with the lowest and the highest.
func spread(values []float64, format string) string {
	return fmt.Sprintf(format+" ("+format+" to "+format+")", figures.Median(values), slices.Min(values), slices.Max(values))
}
