package main

import (
	"fmt"

	"muster.dev/muster/e2e/bench/contender"
)

// ahead are the trials of gates: UntilPlace with single pods, on a scheduler that does not know muster. All pods are
// created while everybody is at work.
func ahead() []trial { return []trial{aheadPlain(), aheadAffinity()} }

// aheadPlain is about pods that ask for room alone.
func aheadPlain() trial {
	stock := func(all bool) entry { return entry{contender.Stock, setting{arrival: live, all: all}} }
	placed := func(c contender.Contender, all bool) entry {
		return entry{c, setting{arrival: live, all: all, optedIn: true}}
	}
	bystanders := entry{contender.Ahead, setting{arrival: live}}
	ratios := []ratio{
		{"ahead_bystanders_vs_stock", bystanders, stock(false)},
		{"ahead_singles_sampled_vs_stock", placed(contender.Ahead, false), stock(false)},
		{"ahead_singles_all_nodes_vs_stock", placed(contender.Ahead, true), stock(true)},
	}
	return trial{
		entries:  compared(ratios),
		sizes:    []int{5000},
		rounds:   3,
		pods:     func(cell) int { return placementPods },
		arriving: unconstrained,
		figure:   func(c cell) string { return fmt.Sprintf("ahead_%s_pods_per_s_%d_%s", c.who(), c.size, c.mode()) },
		ratios:   ratios,
	}
}

// aheadAffinity is about pods that keep apart, on nodes that have such pods already; all
// nodes are scored.
func aheadAffinity() trial {
	stock := entry{contender.Stock, setting{arrival: live, all: true}}
	placed := func(c contender.Contender) entry { return entry{c, setting{arrival: live, all: true, optedIn: true}} }
	ratios := []ratio{
		{"ahead_singles_affinity_vs_stock", placed(contender.Ahead), stock},
	}
	return trial{
		entries:  compared(ratios),
		sizes:    []int{5000},
		rounds:   3,
		pods:     func(cell) int { return placementPods },
		settled:  settledApart,
		arriving: keptApart,
		figure:   func(c cell) string { return fmt.Sprintf("ahead_affinity_%s_pods_per_s_%d", c.who(), c.size) },
		ratios:   ratios,
	}
}
