package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"muster.dev/muster/rescheduler/planner"
)

// large8 is a pod that takes all GPUs of a node, and 32 CPUs.
var large8 = shape{32_000, 131_072, 8_000}

// wholeTrace makes room in the cluster of the trace, and then empties nodes of it.
func wholeTrace(ctx context.Context, t *trace, out, progress io.Writer) error {
	l := fill(t.nodes, t.pods, rand.New(rand.NewPCG(1, 0)), math.MaxInt, 0.3)
	for range manyPods {
		l.pending = append(l.pending, large8)
	}
	problem, groups, err := l.problem()
	if err != nil {
		return err
	}
	fmt.Fprintf(
		progress, "openb: %d nodes, %d pods, %d pods of 8 GPUs wait; %d would fit without a move\n", len(l.nodes), l.pods(), len(l.pending),
		l.direct(large8),
	)
	problem.Limits.Time = 20 * time.Second
	plan := problem.MakeRoom(groups)
	bound := min(len(l.pending), l.bound(large8))
	fmt.Fprintf(
		progress, "openb: %d placed with %d evictions in %s, at most %d could be\n", len(plan.Placements), len(plan.Steps), plan.Took, bound,
	)
	for _, refusal := range plan.Unplaced[:min(1, len(plan.Unplaced))] {
		fmt.Fprintf(progress, "openb: %s: %s %v\n", refusal.Name, refusal.Reason, refusal.Details)
	}
	figure(out, "openb_placed", float64(len(plan.Placements)))
	figure(out, "openb_placed_bound", float64(bound))
	figure(out, "openb_evictions_per_placed", float64(len(plan.Steps))/float64(max(1, len(plan.Placements))))
	figure(out, "openb_plan_ms", milliseconds(plan.Took))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return coalesce(l, problem, out, progress)
}

func coalesce(l *layout, problem *planner.Problem, out, progress io.Writer) error {
	problem.Limits = planner.Limits{Time: 60 * time.Second}
	plan := problem.Coalesce(nil, 0)
	empty := 0
	for _, running := range l.running {
		if len(running) == 0 {
			empty++
		}
	}
	bound := len(l.nodes) - l.needed()
	fmt.Fprintf(progress, "openb: %d nodes were empty, %d more are emptied with %d evictions in %s; at most %d could be empty\n",
		empty, len(plan.Emptied), len(plan.Steps), plan.Took, bound)
	figure(out, "coalesce_emptied", float64(len(plan.Emptied)))
	figure(out, "coalesce_empty_nodes", float64(empty+len(plan.Emptied)))
	figure(out, "coalesce_empty_nodes_bound", float64(bound))
	figure(out, "coalesce_evictions_per_node", float64(len(plan.Steps))/float64(max(1, len(plan.Emptied))))
	return nil
}

// direct is how many pods of a shape fit as things are.
func (l *layout) direct(pod shape) int {
	count := 0
	for n := range l.nodes {
		for free := l.free(n); pod.fitsInto(free); free = free.plus(pod, -1) {
			count++
		}
	}
	return count
}

// bound is how many pods of a shape fit into what is free of each resource in the whole
// cluster, and on the nodes that could take one if they were empty.
func (l *layout) bound(pod shape) int {
	var total shape
	able := 0
	for n, offered := range l.nodes {
		total = total.plus(l.free(n), +1)
		for free := offered; pod.fitsInto(free); free = free.plus(pod, -1) {
			able++
		}
	}
	for d := range pod {
		if pod[d] > 0 {
			able = min(able, int(total[d]/pod[d]))
		}
	}
	return able
}

// needed is how many nodes there must be for what runs: the largest ones, resource by
// resource.
func (l *layout) needed() int {
	needed := 0
	for d := range (shape{}) {
		var offers []int64
		asked := int64(0)
		for n, offered := range l.nodes {
			offers = append(offers, offered[d])
			asked += offered[d] - l.free(n)[d]
		}
		slices.Sort(offers)
		slices.Reverse(offers)
		count := 0
		for ; asked > 0; count++ {
			asked -= offers[count]
		}
		needed = max(needed, count)
	}
	return needed
}
