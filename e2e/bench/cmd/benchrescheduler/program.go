package main

import (
	"bytes"
	"fmt"

	"muster.dev/muster/e2e/bench/solver"
)

// program is a cluster as a linear program over integers: how many pods of
// each shape leave a node (x), come to it (y) and are placed there (p).
type program struct {
	solver.Program
	shapes  []shape
	places  map[shape]int
	movable map[int]bool // shapes that run somewhere

	moves  []bytes.Buffer // by shape: leaving less coming
	placed []bytes.Buffer // by shape
}

// nodeSums are the sums of one node, by resource.
type nodeSums struct{ used, came [len(shape{})]bytes.Buffer }

// program of the cluster. direct allows moves only to room that is free before all of them.
func (l *layout) program(direct bool) *solver.Program {
	p := &program{places: map[shape]int{}, movable: map[int]bool{}}
	pending := p.count(l.pending)
	running := make([]map[int]int, len(l.nodes))
	for n := range l.nodes {
		running[n] = p.count(l.running[n])
		for s := range running[n] {
			p.movable[s] = true
		}
	}
	p.moves, p.placed = make([]bytes.Buffer, len(p.shapes)), make([]bytes.Buffer, len(p.shapes))
	for n := range l.nodes {
		var sums nodeSums
		for s := range p.shapes {
			p.add(n, s, l.nodes[n], running[n][s], pending[s], &sums)
		}
		for d, free := range l.free(n) {
			p.Constrain(fmt.Sprintf("room_%d_%d", n, d), &sums.used[d], fmt.Sprintf("<= %d", free))
			if direct {
				p.Constrain(fmt.Sprintf("free_%d_%d", n, d), &sums.came[d], fmt.Sprintf("<= %d", free))
			}
		}
	}
	for s := range p.shapes {
		p.Constrain(fmt.Sprintf("moves_%d", s), &p.moves[s], "= 0")
		p.Constrain(fmt.Sprintf("pending_%d", s), &p.placed[s], fmt.Sprintf("<= %d", pending[s]))
	}
	return &p.Program
}

// count counts pods by their shape.
func (p *program) count(pods []shape) map[int]int {
	counts := map[int]int{}
	for _, pod := range pods {
		at, known := p.places[pod]
		if !known {
			at = len(p.shapes)
			p.places[pod], p.shapes = at, append(p.shapes, pod)
		}
		counts[at]++
	}
	return counts
}

// add enters the possible moves of pods of a shape on a node, given the numbers of running and waiting pods.
func (p *program) add(n, s int, offered shape, running, pending int, sums *nodeSums) {
	if running > 0 {
		x := p.Integer(fmt.Sprintf("x_%d_%d", n, s), running, "+")
		fmt.Fprintf(&p.moves[s], " + %s", x)
		p.term(&sums.used, "-", s, x)
	}
	if !p.shapes[s].fitsInto(offered) {
		return
	}
	if p.movable[s] {
		y := p.Integer(fmt.Sprintf("y_%d_%d", n, s), mostPods, fmt.Sprintf("+ %g", arrival))
		fmt.Fprintf(&p.moves[s], " - %s", y)
		p.term(&sums.used, "+", s, y)
		p.term(&sums.came, "+", s, y)
	}
	if pending > 0 {
		placed := p.Integer(fmt.Sprintf("p_%d_%d", n, s), pending, fmt.Sprintf("- %d", placing))
		fmt.Fprintf(&p.placed[s], " + %s", placed)
		p.term(&sums.used, "+", s, placed)
	}
}

// term adds the requests of a number of pods of a shape.
func (p *program) term(to *[len(shape{})]bytes.Buffer, sign string, s int, variable string) {
	for d, amount := range p.shapes[s] {
		if amount > 0 {
			fmt.Fprintf(&to[d], " %s %d %s", sign, amount, variable)
		}
	}
}
