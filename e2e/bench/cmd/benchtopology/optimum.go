package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"muster.dev/muster/e2e/bench/figures"
	"muster.dev/muster/e2e/bench/solver"
)

// optimum says what the best places of an instance are worth, nil if there are none. It reports false if that is not known.
func optimum(ctx context.Context, cbc string, in *instance, limit time.Duration) (*worth, bool, error) {
	if cbc == "" {
		best, whole := exhaustive(in)
		return best, whole, nil
	}
	p := programOf(in, nil)
	fewest, err := solver.Solve(ctx, cbc, &p.Program, limit)
	if err != nil || !fewest.Proven {
		return nil, fewest != nil && fewest.Infeasible, err
	}
	best := &worth{used: used(in, fewest)}
	if in.balanced == 0 {
		return best, true, nil
	}
	p = programOf(in, best.used)
	even, err := solver.Solve(ctx, cbc, &p.Program, limit)
	if err != nil || !even.Proven {
		return nil, false, err
	}
	for _, d := range in.domains(in.balanced) {
		pods := d.there
		for _, n := range d.nodes {
			for k := range in.kinds {
				pods += int(math.Round(even.Values[podsOf(k, n)]))
			}
		}
		best.imbalance += pods * pods
	}
	return best, true, nil
}

// used counts the domains of each level that a solution uses.
func used(in *instance, s *solver.Solution) []int {
	used := make([]int, in.counted())
	for name, value := range s.Values {
		if level, is := strings.CutPrefix(name, "u_"); is && value > 0.5 {
			if at, err := strconv.Atoi(level[:strings.Index(level, "_")]); err == nil && at <= in.counted() {
				used[at-1]++
			}
		}
	}
	return used
}

// planned places the pods of an instance as muster does, nil if it finds no places.
type planned func(*instance) (places, error)

// contest is a way to plan, held against the optimum.
type contest struct {
	name string // of its figures, "" for the ones that targets are set for
	what string
	draw func(seed uint64, size size) *instance
	plan planned
}

// sums add up instances.
type sums struct {
	instances, infeasible, unknown, worse int
	placed, placeable                     int
	used, fewest                          int // domains at the lowest level of labels, where both place the gang
	imbalance, least                      int // where both use as few domains of each level
}

// against holds plans of random instances against the optimum. An instance that is worse is named.
func (c *contest) against(ctx context.Context, cbc string, o options, out, progress io.Writer) error {
	var s sums
	size := solved()
	if cbc == "" {
		size = small()
	}
	for seed := o.seed; seed < o.seed+uint64(o.cases); seed++ {
		in := c.draw(seed, size)
		best, known, err := optimum(ctx, cbc, in, o.solving)
		if err != nil {
			return fmt.Errorf("%s, seed %d: %w", c.what, seed, err)
		}
		found, err := c.plan(in)
		if err != nil {
			return fmt.Errorf("%s, seed %d: %w", c.what, seed, err)
		}
		if s.instances++; !known {
			s.unknown++
			continue
		}
		if err := s.add(in, found, best, func(how string) {
			fmt.Fprintf(progress, "%s, seed %d: %d pods on %d nodes: %s\n", c.what, seed, in.pods(), len(in.nodes), how)
		}); err != nil {
			return fmt.Errorf("%s, seed %d: %w", c.what, seed, err)
		}
	}
	s.print(c, out)
	return nil
}

// add adds an instance. What is worse than the optimum is told.
func (s *sums) add(in *instance, found places, best *worth, tell func(string)) error {
	if best == nil && found == nil {
		s.infeasible++
		return nil
	}
	if best != nil {
		s.placeable++
	}
	if found == nil {
		s.worse++
		tell("no places, and there are some")
		return nil
	}
	w, err := in.judge(found)
	if err != nil {
		return fmt.Errorf("not what is asked: %w", err)
	}
	if best == nil || w.compare(best) < 0 {
		return fmt.Errorf("places that are worth %v are better than the optimum, %v", w, best)
	}
	s.placed++
	s.used, s.fewest = s.used+w.lowest(in), s.fewest+best.lowest(in)
	if in.balanced > 0 && slices.Equal(w.used, best.used) {
		s.imbalance, s.least = s.imbalance+w.imbalance, s.least+best.imbalance
	}
	if w.compare(best) > 0 {
		s.worse++
		tell(fmt.Sprintf("domains %v, imbalance %d; the optimum has %v and %d", w.used, w.imbalance, best.used, best.imbalance))
	}
	return nil
}

func (s *sums) print(c *contest, out io.Writer) {
	fmt.Fprintf(
		out, "%s: %d instances, %d without places, %d whose optimum is not known, %d worse than the optimum\n",
		c.what, s.instances, s.infeasible, s.unknown, s.worse,
	)
	figures.Print(out, "topology_"+c.name+"placed_vs_optimum", 4, float64(s.placed)/float64(s.placeable))
	figures.Print(out, "topology_"+c.name+"domains_vs_optimum", 4, float64(s.used)/float64(s.fewest))
	figures.Print(out, "topology_"+c.name+"imbalance_vs_optimum", 4, float64(s.imbalance)/float64(s.least))
}
