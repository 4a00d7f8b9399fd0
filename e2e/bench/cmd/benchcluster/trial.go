package main

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/e2e/bench/contender"
)

// trial is a workload, and who is compared on it.
type trial struct {
	entries []entry
	// sizes, rounds and pods are what is measured unless the environment says otherwise:
	// little enough for the whole trial to take about a quarter of an hour on two cores.
	sizes  []int
	rounds int
	pods   func(cell) int
	// settled makes pods that are on the nodes before anything is measured, if not nil.
	settled func([]*corev1.Node) []*corev1.Pod
	// arriving makes the pods of a cell.
	arriving func(pods int) []*corev1.Pod
	// figure is the name of a cell's rate in figures.
	figure func(cell) string
	ratios []ratio
	leads  []lead
}

// ratio is a figure that compares the rates of two entries at one size.
type ratio struct {
	figure   string // with %d for the size, unless there is one size
	of, than entry
}

// lead is a figure that says how many seconds muster had before the scheduler started.
type lead struct {
	figure string // with %d for the size
	of     entry
}

// setting is under what conditions somebody is measured.
type setting struct {
	arrival arrival
	// all says that all nodes are scored, else the scheduler chooses the number.
	all bool
	// optedIn says that pods are gated when they are created, for muster to place them.
	optedIn bool
}

// entry is who is measured, and how.
type entry struct {
	contender contender.Contender
	setting
}

// enter makes entries of several contenders in one setting.
func enter(s setting, contenders ...contender.Contender) []entry {
	var entries []entry
	for _, c := range contenders {
		entries = append(entries, entry{c, s})
	}
	return entries
}

// compared are the entries that ratios are about.
func compared(ratios []ratio) []entry {
	var entries []entry
	for _, r := range ratios {
		for _, e := range []entry{r.than, r.of} {
			if !slices.Contains(entries, e) {
				entries = append(entries, e)
			}
		}
	}
	return entries
}

// cell is one thing that is measured.
type cell struct {
	entry
	size int
}

func (c cell) String() string {
	return fmt.Sprintf("%s_%d_%s_%s", c.who(), c.size, c.mode(), c.arrival)
}

// who is measured, and on which pods.
func (e entry) who() string {
	if e.optedIn {
		return string(e.contender) + "_opted_in"
	}
	return string(e.contender)
}

func (s setting) mode() string {
	if s.all {
		return "all"
	}
	return "sampled"
}

// percentage of the nodes that the scheduler scores, 0 for its own choice.
func (s setting) percentage() int {
	if s.all {
		return 100
	}
	return 0
}

func (t trial) cells(size int) []cell {
	var cells []cell
	for _, e := range t.entries {
		cells = append(cells, cell{e, size})
	}
	return cells
}

// contenders of the trial, in the order of its entries.
func (t trial) contenders() []contender.Contender {
	return distinct(t.entries, func(e entry) contender.Contender { return e.contender })
}

// settings of the trial, in the order of its entries.
func (t trial) settings() []setting {
	return distinct(t.entries, func(e entry) setting { return e.setting })
}

// distinct are the values of entries, each once.
func distinct[T comparable](entries []entry, value func(entry) T) (values []T) {
	for _, e := range entries {
		if v := value(e); !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return values
}
