package main

import (
	"fmt"

	"muster.dev/muster/e2e/bench/contender"
)

// placement are the trials of nodeSelection: Muster by the ways in which pods arrive.
func placement() []trial { return []trial{placementPlain(), placementAffinity()} }

// placementPods is the number of pods that such a cell binds: the number by which muster may be
// ahead of the scheduler by default.
const placementPods = 2000

// placementPlain is about pods that ask for room alone.
func placementPlain() trial {
	all := func(c contender.Contender, a arrival) entry { return entry{c, setting{arrival: a, all: true}} }
	ahead := all(contender.Nominate, nominated)
	ratios := []ratio{
		{"nominate_backlog_vs_stock_%d_all", ahead, all(contender.Stock, backlog)},
		{"nominate_backlog_together_vs_stock_%d_all", all(contender.Nominate, together), all(contender.Stock, backlog)},
		{"nominate_live_vs_stock_%d_all", all(contender.Nominate, live), all(contender.Stock, live)},
	}
	return trial{
		entries:  compared(ratios),
		sizes:    []int{5000},
		rounds:   3,
		pods:     func(cell) int { return placementPods },
		arriving: unconstrained,
		figure: func(c cell) string {
			return fmt.Sprintf("placement_%s_%s_%d_%s", c.arrival, c.contender, c.size, c.mode())
		},
		ratios: ratios,
		leads:  []lead{{"nominate_backlog_lead_s_%d", ahead}},
	}
}

// placementAffinity is about pods that keep apart, on nodes that have such pods already;
// all nodes are scored.
func placementAffinity() trial {
	stock := func(a arrival) entry { return entry{contender.Stock, setting{arrival: a, all: true}} }
	nominate := func(a arrival) entry { return entry{contender.NominateOffload, setting{arrival: a, all: true}} }
	ratios := []ratio{
		{"nominate_affinity_vs_stock_%d", nominate(nominated), stock(backlog)},
		{"nominate_affinity_together_vs_stock_%d", nominate(together), stock(backlog)},
		{"nominate_affinity_live_vs_stock_%d", nominate(live), stock(live)},
	}
	return trial{
		entries:  compared(ratios),
		sizes:    []int{5000},
		rounds:   3,
		pods:     func(cell) int { return placementPods },
		settled:  settledApart,
		arriving: keptApart,
		figure:   func(c cell) string { return fmt.Sprintf("placement_affinity_%s_%s_%d", c.arrival, c.contender, c.size) },
		ratios:   ratios,
		leads:    []lead{{"nominate_affinity_lead_s_%d", nominate(nominated)}},
	}
}
