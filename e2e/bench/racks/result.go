package racks

import (
	"cmp"
	"slices"
	"time"

	"muster.dev/muster/placement/topology"
)

// result is the outcome of a replay by one rule.
type result struct {
	gangs, whole int           // gangs that ask for one domain, and the ones that had it when they came
	over         time.Duration // how long was measured
	racks        float64       // how many there are
	free         float64       // racks without a job, times nanoseconds
	capacity     float64       // thousandths of GPUs
	busy         float64       // of these in use, times nanoseconds
	waits        []wait
	uneven       []int // for each gang in several racks the most pods in one less the least
	left         int   // jobs without a place in the end
}

// wait is for how long a job waited that asks for an amount.
type wait struct {
	asked int64
	long  time.Duration
}

func (r *result) waited(j *job, long time.Duration) { r.waits = append(r.waits, wait{j.asked(), long}) }

// divided takes down how a job is divided over racks.
func (r *result) divided(w *world, places []topology.Share) {
	in := map[int]int{}
	for _, share := range places {
		in[w.nodes[share.Node].rack] += share.Pods
	}
	if len(in) < 2 {
		return
	}
	var pods []int
	for _, n := range in {
		pods = append(pods, n)
	}
	r.uneven = append(r.uneven, slices.Max(pods)-slices.Min(pods))
}

// freeRacks returns how many racks had no job on average, as a part of all.
func (r *result) freeRacks() float64 { return r.free / float64(r.over) / r.racks }

// use returns how much was in use on average, as a part of all.
func (r *result) use() float64 { return r.busy / float64(r.over) / r.capacity }

// largestWait returns how long the tenth of the jobs waited on average that asks for most.
func (r *result) largestWait() time.Duration {
	sorted := slices.SortedStableFunc(slices.Values(r.waits), func(a, b wait) int { return cmp.Compare(b.asked, a.asked) })
	largest := sorted[:(len(sorted)+9)/10]
	var sum time.Duration
	for _, w := range largest {
		sum += w.long
	}
	return sum / time.Duration(max(1, len(largest)))
}

// imbalance returns the mean of uneven, 0 where no gang was in several racks.
func (r *result) imbalance() float64 {
	sum := 0
	for _, difference := range r.uneven {
		sum += difference
	}
	return float64(sum) / float64(max(1, len(r.uneven)))
}
