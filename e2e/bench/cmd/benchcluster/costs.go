package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"muster.dev/muster/e2e/bench/contender"
	"muster.dev/muster/e2e/bench/figures"
	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/process"
)

// costs are what processes have needed of processors, by part.
type costs map[part]time.Duration

// part is who has a part in it that a pod is bound.
type part string

const extenderPart part = "extender"

// parts in the order in which they are printed.
func parts() []part {
	return []part{part(binaries.Scheduler), extenderPart, part(binaries.APIServer), part(binaries.Etcd)}
}

// costs of a contender, and of the control plane, since they started.
func (l laboratory) costs(e *contender.Entry) (costs, error) {
	all := costs{}
	running := l.Pids()
	for _, p := range parts() {
		pid, runs := running[binaries.Binary(p)]
		if p == extenderPart {
			pid, runs = e.ExtenderPid()
		}
		if !runs {
			continue
		}
		var err error
		if all[p], err = process.CPU(pid); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// perPod divides the resources that were needed since by the number of pods.
func (c costs) perPod(since costs, pods int) costs {
	each := costs{}
	for p, now := range c {
		each[p] = (now - since[p]) / time.Duration(max(pods, 1))
	}
	return each
}

func (c costs) total() (sum time.Duration) {
	for _, each := range c {
		sum += each
	}
	return sum
}

// printCosts prints what a pod has cost each part, in milliseconds of a processor: medians of the rounds.
func (r results) printCosts(out io.Writer, t trial, sizes []int) {
	fmt.Fprintln(out, "Milliseconds of a processor for each pod, median of the rounds:")
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', tabwriter.AlignRight)
	for _, p := range parts() {
		fmt.Fprintf(table, "\t%s", p)
	}
	fmt.Fprint(table, "\tall\t\n")
	for _, size := range sizes {
		for _, c := range t.cells(size) {
			fmt.Fprint(table, c)
			for _, p := range parts() {
				fmt.Fprintf(table, "\t%.2f", figures.Median(r.costsOf(c, func(m costs) time.Duration { return m[p] })))
			}
			fmt.Fprintf(table, "\t%.2f\t\n", figures.Median(r.costsOf(c, costs.total)))
		}
	}
	table.Flush()
	fmt.Fprintln(out)
}

// costsOf are costs of a cell in milliseconds, by round.
func (r results) costsOf(c cell, which func(costs) time.Duration) []float64 {
	return r.of(c, func(m measurement) float64 { return float64(which(m.costs)) / float64(time.Millisecond) })
}
