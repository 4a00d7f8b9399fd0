package main

import (
	"bytes"
	"fmt"
	"math"

	"muster.dev/muster/e2e/bench/solver"
)

// program is an instance as a linear program: how many pods of each kind each node gets (x), which domains are used (u), how many
// slices a domain has (s), and what is counted for balance (y).
type program struct {
	solver.Program
	in   *instance
	open []bool     // by node
	used [][]string // by level from 1, whether a domain is used that has no pods yet
}

// programOf returns the program that looks for the fewest domains, the upper levels first; or, where it is known how many these
// are, for the least imbalance.
func programOf(in *instance, fewest []int) *program {
	p := &program{in: in, open: make([]bool, len(in.nodes))}
	for n := range p.open {
		p.open[n] = true
	}
	for level := 1; level <= in.levels+1; level++ {
		for _, d := range in.domains(level) {
			for _, n := range d.nodes {
				p.open[n] = p.open[n] && !in.closed(d)
			}
		}
	}
	p.pods()
	weights := p.weights()
	for level := 1; level <= in.levels+1; level++ {
		weight := "+ 0"
		if level <= in.counted() && fewest == nil {
			weight = fmt.Sprintf("+ %d", weights[level-1])
		}
		p.level(level, weight)
		if level == in.required {
			p.Constrain("required", p.sum(level), "<= 1")
		}
		if level <= in.counted() && fewest != nil {
			p.Constrain(fmt.Sprintf("fewest_%d", level), p.sum(level), fmt.Sprintf("<= %d", fewest[level-1]))
		}
		if level == in.balanced && fewest != nil {
			p.balance()
		}
	}
	return p
}

// weights are such that one domain of a level costs more than all of the levels below.
func (p *program) weights() []int {
	weights := make([]int, p.in.counted())
	weight := 1
	for level := len(weights); level > 0; level-- {
		weights[level-1] = weight
		weight *= 1 + len(p.in.domains(level))
	}
	return weights
}

// pods has all pods placed, and no more on a node than it has room for.
func (p *program) pods() {
	all := make([]bytes.Buffer, len(p.in.kinds))
	for n := range p.in.nodes {
		if !p.open[n] {
			continue
		}
		var takes [len(amounts{})]bytes.Buffer
		for k, kind := range p.in.kinds {
			x := p.Integer(podsOf(k, n), p.in.room(n, k), "+ 0")
			fmt.Fprintf(&all[k], " + %s", x)
			for resource, asked := range kind.asks {
				if asked > 0 {
					fmt.Fprintf(&takes[resource], " + %d %s", asked, x)
				}
			}
		}
		for resource := range takes {
			p.Constrain(fmt.Sprintf("room_%d_%d", n, resource), &takes[resource], fmt.Sprintf("<= %d", p.in.nodes[n].free[resource]))
		}
	}
	for k, kind := range p.in.kinds {
		all[k].WriteString(" + 0 nothing") // a sum of no nodes is bounded, too
		p.Constrain(fmt.Sprintf("all_%d", k), &all[k], fmt.Sprintf("= %d", kind.count))
	}
	p.Number("nothing", 0, "+ 0")
}

func podsOf(kind, node int) string { return fmt.Sprintf("x_%d_%d", kind, node) }

// inside is a sum of the pods that come to a domain, and how many that may be.
func (p *program) inside(d *domain) (sum bytes.Buffer, most int) {
	for _, n := range d.nodes {
		for k := range p.in.kinds {
			if p.open[n] {
				fmt.Fprintf(&sum, " + %s", podsOf(k, n))
				most += p.in.room(n, k)
			}
		}
	}
	return sum, min(most, p.in.pods())
}

// level has domains of a level be used that have pods, and slices be whole in each.
func (p *program) level(level int, weight string) {
	var uses []string
	for i, d := range p.in.domains(level) {
		p.whole(d, i)
		sum, most := p.inside(d)
		if d.there > 0 || most == 0 {
			continue
		}
		name := p.Integer(fmt.Sprintf("u_%d_%d", level, i), 1, weight)
		uses = append(uses, name)
		fmt.Fprintf(&sum, " - %d %s", most, name)
		p.Constrain(fmt.Sprintf("use_%d_%d", level, i), &sum, "<= 0")
	}
	p.used = append(p.used, uses)
}

// whole has a domain have whole slices.
func (p *program) whole(d *domain, number int) {
	for i, s := range p.in.slices {
		if s.Level != d.level {
			continue
		}
		sum, _ := p.inside(d)
		name := fmt.Sprintf("s_%d_%d_%d", d.level, number, i)
		p.Integer(name, math.MaxInt16, "+ 0")
		fmt.Fprintf(&sum, " - %d %s", s.Size, name)
		p.Constrain("whole_"+name, &sum, fmt.Sprintf("= %d", -d.there))
	}
}

// sum is how many domains of a level are used.
func (p *program) sum(level int) *bytes.Buffer {
	var sum bytes.Buffer
	for _, u := range p.used[level-1] {
		fmt.Fprintf(&sum, " + %s", u)
	}
	return &sum
}

// balance has the squares of what the domains of the balanced level have be the cost: one pod more costs more than the one before.
func (p *program) balance() {
	for i, d := range p.in.domains(p.in.balanced) {
		sum, most := p.inside(d)
		for pod := range most {
			fmt.Fprintf(&sum, " - %s", p.Number(fmt.Sprintf("y_%d_%d", i, pod), 1, fmt.Sprintf("+ %d", 2*(d.there+pod)+1)))
		}
		p.Constrain(fmt.Sprintf("balance_%d", i), &sum, "<= 0")
	}
}
