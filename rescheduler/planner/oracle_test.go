package planner

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// puzzle is a cluster of one resource, small enough to try everything.
type puzzle struct {
	room    []int // free, by node
	running [][]int
	pending []int
	hops    int
}

func drawPuzzle(random *rand.Rand) puzzle {
	p := puzzle{hops: 1 + random.IntN(3)}
	pods := 0
	for range 2 + random.IntN(4) {
		free := 4 + random.IntN(7)
		var running []int
		for pods < 14 && random.IntN(5) > 0 {
			size := 1 + random.IntN(4)
			if size > free {
				break
			}
			free, running, pods = free-size, append(running, size), pods+1
		}
		p.room, p.running = append(p.room, free), append(p.running, running)
	}
	for range 1 + random.IntN(4) {
		p.pending = append(p.pending, 2+random.IntN(8))
	}
	return p
}

func (p puzzle) scene(t failer, change ...func(at int) func(*corev1.Node)) *scene {
	s := newScene()
	for i, free := range p.room {
		total := free
		for j, size := range p.running[i] {
			total += size
			// Each is of a ReplicaSet of its own, so that nothing but room matters.
			s.set(t, pod(fmt.Sprintf("r%dx%d-1", i, j), fmt.Sprint("node-", i), fmt.Sprint(size)))
		}
		var changes []func(*corev1.Node)
		for _, f := range change {
			changes = append(changes, f(i))
		}
		s.set(t, node(fmt.Sprint("node-", i), fmt.Sprint(total), changes...))
	}
	for i, size := range p.pending {
		s.set(t, pod(fmt.Sprintf("p%d-1", i), "", fmt.Sprint(size)))
	}
	return s
}

// outcome is how many pods get a place, and how many are evicted for that.
type outcome struct{ placed, evictions int }

func (o outcome) over(other outcome) bool {
	return o.placed > other.placed || o.placed == other.placed && o.evictions < other.evictions
}

// oracle tries every target of every pod, and every order of the moves.
type oracle struct {
	puzzle
	from, to, size []int // of running pods
	moves          int
	free           []int      // at the end
	worth          func() int // what is placed in the end
	most           int        // and at most
	best           outcome
	tried          int
}

// optimum is the best that can be, or false when that takes too long to find out.
func (p puzzle) optimum() (outcome, bool) {
	o := newOracle(p, len(p.pending))
	o.worth = func() int { return pack(o.free, o.pending) }
	ok := o.try(0)
	return o.best, ok
}

func newOracle(p puzzle, most int) *oracle {
	o := &oracle{puzzle: p, free: slices.Clone(p.room), most: most, best: outcome{-1, 0}}
	for node, running := range p.running {
		for _, size := range running {
			o.from, o.to, o.size = append(o.from, node), append(o.to, node), append(o.size, size)
		}
	}
	return o
}

// try has the pod at a place, and the pods after it, move or stay in all ways.
func (o *oracle) try(at int) bool {
	if at == len(o.size) {
		const most = 1_000_000
		if o.tried++; o.tried > most {
			return false
		}
		if slices.Min(o.free) < 0 {
			return true
		}
		found := outcome{o.worth(), o.moves}
		if found.over(o.best) && o.hasOrder() {
			o.best = found
		}
		return true
	}
	for node := range o.room {
		if node != o.from[at] && (o.moves == 6 || o.hops == 1 && o.room[node] < o.size[at]) {
			continue
		}
		if node != o.from[at] && o.best.placed == o.most && o.moves+1 >= o.best.evictions {
			continue
		}
		o.send(at, node)
		ok := o.try(at + 1)
		o.send(at, o.from[at])
		if !ok {
			return false
		}
	}
	return true
}

func (o *oracle) send(at, node int) {
	count := func(to int) int {
		if to != o.from[at] {
			return 1
		}
		return 0
	}
	o.moves += count(node) - count(o.to[at])
	o.free[o.to[at]] += o.size[at]
	o.free[node] -= o.size[at]
	o.to[at] = node
}

// pack is how many of the pods fit into what is free.
func pack(free, pods []int) int {
	if len(pods) == 0 {
		return 0
	}
	best := pack(free, pods[1:])
	for node := range free {
		if free[node] >= pods[0] {
			free[node] -= pods[0]
			best = max(best, 1+pack(free, pods[1:]))
			free[node] += pods[0]
		}
	}
	return best
}

// hasOrder reports whether the moves can be made within the allowed number of rounds, each into room that was
// free before it, in one of all orders.
func (o *oracle) hasOrder() bool {
	var moves []int
	for at := range o.size {
		if o.to[at] != o.from[at] {
			moves = append(moves, at)
		}
	}
	return o.rounds(slices.Clone(o.room), moves, o.hops)
}

func (o *oracle) rounds(free, moves []int, left int) bool {
	if len(moves) == 0 {
		return true
	}
	if left == 0 {
		return false
	}
	for chosen := 1; chosen < 1<<len(moves); chosen++ {
		next, fits := slices.Clone(free), true
		var rest []int
		for bit, at := range moves {
			if chosen>>bit&1 == 0 {
				rest = append(rest, at)
				continue
			}
			next[o.to[at]] -= o.size[at]
			fits = fits && next[o.to[at]] >= 0
		}
		for bit, at := range moves {
			if chosen>>bit&1 == 1 {
				next[o.from[at]] += o.size[at]
			}
		}
		if fits && o.rounds(next, rest, left-1) {
			return true
		}
	}
	return false
}

// TestPlansAreAsGoodAsAnExhaustiveSearch holds plans for small clusters against the best of
// all.
func TestPlansAreAsGoodAsAnExhaustiveSearch(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	tried, moved, cases := 0, 0, 150
	if testing.Short() {
		cases = 45
	}
	for tried < cases {
		puzzle := drawPuzzle(random)
		want, known := puzzle.optimum()
		if !known || want.evictions >= 6 {
			continue
		}
		tried++
		if want.evictions > 0 {
			moved++
		}
		s := puzzle.scene(t)
		problem := s.problem(t)
		problem.Limits = Limits{Hops: puzzle.hops, Patience: 1000}
		plan := problem.MakeRoom(s.groups())
		checkPlan(t, problem, s.groups(), plan)
		if got := (outcome{len(plan.Placements), len(plan.Steps)}); got != want {
			t.Errorf("%+v: %+v, and the best is %+v:\n%q", puzzle, got, want, said(plan))
		}
	}
	if moved < cases*2/15 {
		t.Errorf("in %d of %d clusters pods have to move: too few to tell anything", moved, tried)
	}
}
