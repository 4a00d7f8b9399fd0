package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/rescheduler/planner"
)

const (
	rackKey   = "topology.kubernetes.io/rack"
	racks     = 3
	largeRack = 40 // nodes of one rack in the large cluster
	together  = 8  // of these are to be empty
)

// racked puts nodes into racks by their number.
func racked(rackOf func(node int) int) func(metav1.Object) {
	return func(object metav1.Object) {
		if node, is := object.(*corev1.Node); is {
			var number int
			_, _ = fmt.Sscanf(node.Name, "node-%d", &number)
			node.Labels[rackKey] = fmt.Sprint("rack-", rackOf(number))
		}
	}
}

// freeDomains holds plans to free a rack of small clusters against bounds, and then frees one of a large cluster.
func freeDomains(ctx context.Context, o options, t *trace, out, progress io.Writer) error {
	possible, freed := 0, 0
	var ratios []float64
	for seed := 0; possible < o.cases && ctx.Err() == nil; seed++ {
		random := rand.New(rand.NewPCG(uint64(seed), 3))
		var nodes []shape
		for range racks * (4 + random.IntN(5)) {
			nodes = append(nodes, t.nodes[random.IntN(len(t.nodes))])
		}
		l := fill(nodes, t.pods, random, 20, 0.05+0.15*random.Float64())
		count := 2 + random.IntN(2)
		fewest := l.fewestToFree(count)
		if fewest <= 0 {
			continue // none can be freed, or one is free
		}
		possible++
		problem, _, err := l.problemWith(racked(func(node int) int { return node % racks }))
		if err != nil {
			return err
		}
		problem.Limits = planner.Limits{Hops: 4, Time: o.planning}
		plan := problem.FreeDomains(planner.Domains{Key: rackKey, Nodes: count, Count: 1})
		if len(plan.Emptied) > 0 {
			freed++
			ratios = append(ratios, float64(fewest)/float64(len(plan.Steps)))
		}
		fmt.Fprintf(
			progress, "racks, case %d: %d nodes of %d, %d pods: %d emptied with %d evictions in %s, no fewer than %d\n", seed, count, len(nodes),
			l.pods(), len(plan.Emptied), len(plan.Steps), plan.Took.Round(time.Millisecond), fewest,
		)
	}
	figure(out, "free_domains_freed_vs_bound", float64(freed)/float64(max(1, possible)))
	figure(out, "free_domains_vs_bound", mean(ratios))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return freeLargeRack(o.nodes, out, progress)
}

func freeLargeRack(nodes int, out, progress io.Writer) error {
	l, _ := large(nodes)
	problem, _, err := l.problemWith(func(object metav1.Object) {
		decorate(object)
		racked(func(node int) int { return node / largeRack })(object)
	})
	if err != nil {
		return err
	}
	problem.Limits.Time = 9 * time.Second
	plan := problem.FreeDomains(planner.Domains{Key: rackKey, Nodes: together, Count: 1})
	fmt.Fprintf(
		progress, "%d of %d nodes of a rack: %d emptied with %d evictions in %s\n", together, largeRack, len(plan.Emptied), len(plan.Steps),
		plan.Took,
	)
	figure(out, "plan_free_domain_ms", milliseconds(plan.Took))
	figure(out, "plan_free_domain_evictions", float64(len(plan.Steps)))
	return nil
}

// fewestToFree returns the least number of pods on a number of nodes of a rack, if the free amount of each resource on
// all other nodes suffices for them; -1 when it never does. Nobody can free a rack with fewer evictions.
func (l *layout) fewestToFree(count int) int {
	fewest := -1
	for rack := range racks {
		var of []int
		for n := range l.nodes {
			if n%racks == rack {
				of = append(of, n)
			}
		}
		for chosen := range 1 << len(of) {
			var needs, room shape
			pods, nodes, empty := 0, 0, map[int]bool{}
			for bit, n := range of {
				if chosen>>bit&1 == 1 {
					empty[n], nodes, pods = true, nodes+1, pods+len(l.running[n])
					needs = needs.plus(l.nodes[n], +1).plus(l.free(n), -1)
				}
			}
			if nodes != count || fewest >= 0 && pods >= fewest {
				continue
			}
			for n := range l.nodes {
				if !empty[n] {
					room = room.plus(l.free(n), +1)
				}
			}
			if needs.fitsInto(room) {
				fewest = pods
			}
		}
	}
	return fewest
}
