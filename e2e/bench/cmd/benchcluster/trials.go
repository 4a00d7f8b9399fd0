package main

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/e2e/bench/contender"
	"muster.dev/muster/e2e/workload"
)

// plain is about pods that ask for room alone.
func plain() trial {
	sampled, all := setting{arrival: backlog, all: false}, setting{arrival: backlog, all: true}
	sampledLive := setting{arrival: live, all: false}
	contenders := []contender.Contender{contender.Stock, contender.Empty, contender.Scheduler, contender.Extender, contender.Nominate}
	return trial{
		entries: slices.Concat(
			enter(
				sampled,
				contenders...),
			enter(sampled, contender.SameSample),
			enter(all, contenders...),
			enter(sampledLive, contender.Stock, contender.SameSample, contender.Nominate),
		),
		sizes:  []int{1000, 5000},
		rounds: 5,
		pods: func(c cell) int { // enough for some seconds
			switch {
			case !c.all:
				return 1500
			case c.size > 1000:
				return 300
			}
			return 800
		},
		arriving: unconstrained,
		figure: func(c cell) string {
			if c.arrival == live {
				return fmt.Sprintf("%s_live_%d_%s", c.contender, c.size, c.mode())
			}
			return fmt.Sprintf("%s_%d_%s", c.contender, c.size, c.mode())
		},
		ratios: []ratio{
			{"extender_vs_stock_%d_all", entry{contender.Extender, all}, entry{contender.Stock, all}},
			{"extender_vs_stock_%d_sampled", entry{contender.Extender, sampled}, entry{contender.Stock, sampled}},
			{"scheduler_vs_stock_%d_all", entry{contender.Scheduler, all}, entry{contender.Stock, all}},
			{"scheduler_vs_stock_%d_sampled", entry{contender.Scheduler, sampled}, entry{contender.Stock, sampled}},
			{"nominate_live_vs_stock_%d_sampled", entry{contender.Nominate, sampledLive}, entry{contender.Stock, sampledLive}},
			{"nominate_vs_stock_%d_all", entry{contender.Nominate, all}, entry{contender.Stock, all}},
			{"nominate_vs_stock_%d_sampled", entry{contender.Nominate, sampled}, entry{contender.Stock, sampled}},
			{"extender_vs_same_sample_%d", entry{contender.Extender, sampled}, entry{contender.SameSample, sampled}},
			{"scheduler_vs_same_sample_%d", entry{contender.Scheduler, sampled}, entry{contender.SameSample, sampled}},
			{"nominate_vs_same_sample_%d", entry{contender.Nominate, sampled}, entry{contender.SameSample, sampled}},
			{"nominate_live_vs_same_sample_%d", entry{contender.Nominate, sampledLive}, entry{contender.SameSample, sampledLive}},
			{"same_sample_vs_stock_%d", entry{contender.SameSample, sampled}, entry{contender.Stock, sampled}},
			{"empty_vs_stock_%d_sampled", entry{contender.Empty, sampled}, entry{contender.Stock, sampled}},
			{"scheduler_vs_empty_%d", entry{contender.Scheduler, all}, entry{contender.Empty, all}},
			{"scheduler_vs_empty_%d_sampled", entry{contender.Scheduler, sampled}, entry{contender.Empty, sampled}},
		},
	}
}

// affinity is about pods that keep apart, on nodes that have such pods already; all nodes
// are scored.
func affinity() trial {
	all := setting{arrival: backlog, all: true}
	stock := entry{contender.Stock, all}
	return trial{
		entries: enter(all, contender.Stock, contender.Extender, contender.Offload, contender.OffloadAll,
			contender.NominateOffload, contender.EmptyOffload),
		sizes:    []int{5000},
		rounds:   5,
		pods:     func(cell) int { return 500 },
		settled:  settledApart,
		arriving: keptApart,
		figure:   func(c cell) string { return fmt.Sprintf("affinity_%s_pods_per_s_%d", c.contender, c.size) },
		ratios: []ratio{
			{"affinity_vs_stock_%d", entry{contender.Extender, all}, stock},
			{"affinity_offload_vs_stock_%d", entry{contender.Offload, all}, stock},
			{"affinity_offload_no_preemption_vs_stock_%d", entry{contender.OffloadAll, all}, stock},
			{"affinity_nominate_offload_vs_stock_%d", entry{contender.NominateOffload, all}, stock},
			{"affinity_empty_vs_stock_%d", entry{contender.EmptyOffload, all}, stock},
		},
	}
}

// unconstrained pods of ten Deployments ask for room alone.
func unconstrained(pods int) []*corev1.Pod { return workload.Backlog(pods, 10) }

const keptApartDeployments = 20

// keptApart makes pods of twenty Deployments with anti-affinity and spread.
func keptApart(pods int) []*corev1.Pod {
	return keepApart(workload.Backlog(pods, keptApartDeployments))
}

// settledApart makes pods of the same Deployments for most of the nodes.
func settledApart(nodes []*corev1.Node) []*corev1.Pod {
	pods := keepApart(workload.Settle(nodes, keptApartDeployments))
	for _, p := range pods {
		p.UID = types.UID(p.Name) // so that they can be told apart without the API server
	}
	return pods
}

func keepApart(pods []*corev1.Pod) []*corev1.Pod {
	for _, p := range pods {
		workload.KeepApart(p)
	}
	return pods
}
