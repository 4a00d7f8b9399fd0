package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"muster.dev/muster/e2e/bench/solver"
	"muster.dev/muster/rescheduler/planner"
)

const waitingPods = 20

// tight is a small cluster with hardly any room, and pods that fit nowhere.
func tight(t *trace, seed uint64) *layout {
	random := rand.New(rand.NewPCG(seed, 1))
	for {
		var nodes []shape
		for range 8 + random.IntN(13) {
			nodes = append(nodes, t.nodes[random.IntN(len(t.nodes))])
		}
		l := fill(nodes, t.pods, random, 20, 0.2+0.2*random.Float64())
		for try := 0; try < 5_000 && len(l.pending) < waitingPods; try++ {
			if pod := t.pods[random.IntN(len(t.pods))]; !l.fits(pod) && l.possible(pod) {
				l.pending = append(l.pending, pod)
			}
		}
		if len(l.pending) == waitingPods {
			return l
		}
	}
}

// possible says that a pod would fit on an empty node.
func (l *layout) possible(pod shape) bool {
	return slices.ContainsFunc(l.nodes, pod.fitsInto)
}

// againstOptimum holds plans for tight clusters against what an exact solver finds.
func againstOptimum(ctx context.Context, o options, t *trace, out, progress io.Writer) error {
	cbc := solver.Path()
	if cbc == "" {
		fmt.Fprintln(progress, "SKIPPED: there is no cbc (Debian: coinor-cbc), so there is no optimum to hold plans against")
		return nil
	}
	var all []float64
	for _, hops := range []int{1, 4} {
		var s sums
		for seed := range o.cases {
			l := tight(t, uint64(seed))
			problem, groups, err := l.problem()
			if err != nil {
				return err
			}
			problem.Seed = uint64(seed)
			problem.Limits = planner.Limits{Hops: hops, Time: o.planning, Patience: 1 << 20}
			plan := problem.MakeRoom(groups)
			best, err := optimum(ctx, cbc, l, hops == 1, o.solving)
			if err != nil {
				return err
			}
			s.add(plan, best)
			fmt.Fprintf(
				progress, "%d hops, case %d: %d nodes, %d pods: placed %d with %d evictions in %s; CBC %d with %d in %s, at most %d%s\n", hops, seed,
				len(l.nodes), l.pods(), len(plan.Placements), len(plan.Steps), plan.Took.Round(time.Millisecond), best.placed, best.evictions,
				best.took.Round(time.Millisecond), best.bound, best.remark(),
			)
		}
		name := "1hop"
		if hops > 1 {
			name = "multihop"
		}
		s.print(out, name)
		all = append(all, s.ratios...)
	}
	figure(out, "evictions_vs_optimum", mean(all))
	return nil
}

func (l *layout) pods() int {
	pods := 0
	for _, running := range l.running {
		pods += len(running)
	}
	return pods
}

// sums add up clusters with a known optimum: how many pods can be placed, and of the ratios also
// with how few evictions.
type sums struct {
	placed, optimum   int
	ratios            []float64 // of evictions, where as many pods are placed
	unknown, exceeded int
}

func (s *sums) add(plan *planner.Plan, best solution) {
	placed := len(plan.Placements)
	if placed > best.bound {
		s.exceeded++
	}
	if max(placed, best.placed) < best.bound {
		s.unknown++
		return
	}
	s.placed, s.optimum = s.placed+placed, s.optimum+best.bound
	if best.proven && placed == best.placed {
		s.ratios = append(s.ratios, float64(max(1, len(plan.Steps)))/float64(max(1, best.evictions)))
	}
}

func (s *sums) print(out io.Writer, name string) {
	figure(out, "placed_vs_optimum_"+name, float64(s.placed)/float64(max(1, s.optimum)))
	figure(out, "evictions_vs_optimum_"+name, mean(s.ratios))
	fmt.Fprintf(out, "figure optimum_unknown_%s=%d\n", name, s.unknown)
	if s.exceeded > 0 {
		fmt.Fprintf(out, "%d plans are better than the optimum: one of the two models is wrong\n", s.exceeded)
	}
}

func mean(ratios []float64) float64 {
	sum := 0.0
	for _, ratio := range ratios {
		sum += ratio
	}
	return sum / float64(max(1, len(ratios)))
}
