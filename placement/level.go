package placement

import (
	"fmt"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement/topology"
)

// level numbers the domains of a level.
type level struct {
	domains []*cluster.Domains // of its keys
	known   []map[[2]int32]int32
}

func (n *Network) level(i int, snap *cluster.Snapshot) (l level) {
	if i < len(n.Above) {
		for _, key := range n.Above[i] {
			l.domains, l.known = append(l.domains, snap.Domains(key)), append(l.known, map[[2]int32]int32{})
		}
	}
	l.domains = append(l.domains, snap.Domains(n.Levels[i]))
	return l
}

// of returns the number of the domain that a node is in, -1 where it lacks one of the labels.
func (l *level) of(node int32) int32 {
	at := l.domains[0].Of(node)
	for i, known := range l.known {
		pair := [2]int32{at, l.domains[i+1].Of(node)}
		if pair[0] < 0 || pair[1] < 0 {
			return -1
		}
		number, is := known[pair]
		if !is {
			number = int32(len(known)) //nolint:gosec // no more than there are nodes
			known[pair] = number
		}
		at = number
	}
	return at
}

// tree returns the domains of the levels that a network names. It is made once in a plan: what pods come and go changes no label.
func (p *Plan) tree(n *Network) *topology.Tree {
	key := fmt.Sprintf("%q %q", n.Levels, n.Above)
	if tree := p.trees[key]; tree != nil {
		return tree
	}
	snap := p.Snapshot()
	var levels []level
	for i := range n.Levels {
		levels = append(levels, n.level(i, snap))
	}
	nodes := make([]topology.Node, 0, snap.NodeCount())
	for node := range snap.Nodes() {
		path := make([]int32, len(levels))
		for i, level := range levels {
			path[i] = level.of(node.Index)
		}
		nodes = append(nodes, topology.Node{Index: node.Index, Path: path})
	}
	tree := topology.New(nodes, len(levels))
	p.trees[key] = tree
	return tree
}
