package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/e2e/contender"
	"muster.dev/muster/e2e/workload"
)

// trial is a workload, and who is compared on it.
type trial struct {
	contenders []contender.Contender
	// modes are whether all nodes are scored, or as many as the scheduler likes.
	modes []bool
	// sizes and pods are what is measured unless the environment says otherwise: few
	// enough pods for the whole trial to take about a quarter of an hour on two cores.
	sizes []int
	pods  func(cell) int
	// settled makes pods that are on the nodes before anything is measured, if not nil.
	settled func([]*corev1.Node) []*corev1.Pod
	// backlog makes the pods of a cell.
	backlog func(pods int) []*corev1.Pod
	// figure is the name of a cell's rate in figures.
	figure func(cell) string
	ratios []ratio
}

// ratio is a figure that compares two contenders of one size.
type ratio struct {
	figure   string // with %d for the size
	of, than contender.Contender
	all      bool
}

// plain is about pods that ask for room alone.
func plain() trial {
	return trial{
		contenders: []contender.Contender{contender.Stock, contender.Empty, contender.Scheduler, contender.Extender, contender.Nominate},
		modes:      []bool{false, true},
		sizes:      []int{1000, 5000},
		pods: func(c cell) int {
			if c.all && c.size > 1000 {
				return 300
			}
			return 600
		},
		backlog: func(pods int) []*corev1.Pod { return workload.Backlog(pods, 10) },
		figure:  func(c cell) string { return fmt.Sprintf("%s_%d_%s", c.contender, c.size, c.mode()) },
		ratios: []ratio{
			{"extender_vs_stock_%d_all", contender.Extender, contender.Stock, true},
			{"extender_vs_stock_%d_sampled", contender.Extender, contender.Stock, false},
			{"nominate_vs_stock_%d_all", contender.Nominate, contender.Stock, true},
			{"nominate_vs_stock_%d_sampled", contender.Nominate, contender.Stock, false},
			{"scheduler_vs_empty_%d", contender.Scheduler, contender.Empty, true},
			{"scheduler_vs_empty_%d_sampled", contender.Scheduler, contender.Empty, false},
		},
	}
}

// affinity is about pods of twenty Deployments with anti-affinity and spread, which have
// pods on most nodes already; all nodes are scored.
func affinity() trial {
	const deployments = 20
	apart := func(pods []*corev1.Pod) []*corev1.Pod {
		for _, p := range pods {
			workload.KeepApart(p)
		}
		return pods
	}
	return trial{
		contenders: []contender.Contender{contender.Stock, contender.Extender, contender.Offload, contender.OffloadAll, contender.NominateOffload, contender.EmptyOffload},
		modes:      []bool{true},
		sizes:      []int{5000},
		pods:       func(cell) int { return 500 },
		settled:    func(nodes []*corev1.Node) []*corev1.Pod { return apart(workload.Settle(nodes, deployments)) },
		backlog:    func(pods int) []*corev1.Pod { return apart(workload.Backlog(pods, deployments)) },
		figure:     func(c cell) string { return fmt.Sprintf("affinity_%s_pods_per_s_%d", c.contender, c.size) },
		ratios: []ratio{
			{"affinity_vs_stock_%d", contender.Extender, contender.Stock, true},
			{"affinity_offload_vs_stock_%d", contender.Offload, contender.Stock, true},
			{"affinity_offload_no_preemption_vs_stock_%d", contender.OffloadAll, contender.Stock, true},
			{"affinity_nominate_offload_vs_stock_%d", contender.NominateOffload, contender.Stock, true},
			{"affinity_empty_vs_stock_%d", contender.EmptyOffload, contender.Stock, true},
		},
	}
}

// cell is one thing that is measured.
type cell struct {
	contender contender.Contender
	size      int
	all       bool
}

func (c cell) String() string { return fmt.Sprintf("%s_%d_%s", c.contender, c.size, c.mode()) }

func (c cell) mode() string {
	if c.all {
		return "all"
	}
	return "sampled"
}

// percentage of the nodes that the scheduler scores, 0 for its own choice.
func (c cell) percentage() int {
	if c.all {
		return 100
	}
	return 0
}

func (t trial) cells(size int) []cell {
	var cells []cell
	for _, all := range t.modes {
		for _, c := range t.contenders {
			cells = append(cells, cell{contender: c, size: size, all: all})
		}
	}
	return cells
}
