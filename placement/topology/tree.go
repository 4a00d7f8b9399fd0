package topology

import "slices"

// Node is a node of a cluster.
type Node struct {
	Index int32
	// Path numbers the values of its labels, one for each level, the uppermost first; a negative number is for a label that it
	// lacks.
	Path []int32
}

// Tree is the domains of a cluster: the cluster itself at level 0, domains by labels at the levels below, and nodes at the last
// one. It is immutable.
type Tree struct {
	// Levels is how many levels of labels there are.
	Levels  int
	domains []domain // parents before their children; the first is the cluster
	first   []int    // of each level, the first of its domains in byLevel
	byLevel []int32
	nodes   map[int32]int32 // the domains of nodes, by index
	place   map[int32]int32 // of each node, by index, in the order of the tree
}

// domain is a domain of a tree. Its identity is its path: domains of two parents that have the same value are two.
type domain struct {
	parent   int32
	children []int32
	level    int
	node     int32 // its index, -1 for what is no node
	example  int32 // the index of a node in it
	bare     bool  // its nodes lack the label of its level
	lacks    bool  // or of one above
}

// New returns the tree of nodes with a number of labels each.
func New(nodes []Node, levels int) *Tree {
	t := &Tree{Levels: levels, domains: []domain{{parent: -1, node: -1}}, nodes: map[int32]int32{}, place: map[int32]int32{}}
	known := map[[2]int32]int32{} // by parent and value
	for i := range nodes {
		at := int32(0)
		for level, value := range nodes[i].Path {
			below, is := known[[2]int32{at, value}]
			if !is {
				below = t.add(domain{
					parent: at, level: level + 1, node: -1, example: nodes[i].Index, bare: value < 0, lacks: value < 0 || t.domains[at].lacks,
				})
				known[[2]int32{at, value}] = below
			}
			at = below
		}
		index := nodes[i].Index
		t.nodes[index] = t.add(domain{parent: at, level: levels + 1, node: index, example: index, lacks: t.domains[at].lacks})
	}
	t.first = make([]int, levels+3)
	for i := range t.domains {
		t.first[t.domains[i].level+1]++
	}
	for level := range levels + 2 {
		t.first[level+1] += t.first[level]
	}
	t.byLevel = make([]int32, len(t.domains))
	next := append([]int(nil), t.first...)
	for i := range t.domains {
		level := t.domains[i].level
		t.byLevel[next[level]] = int32(i)
		next[level]++
	}
	t.walk(0, func(node int32) { t.place[node] = int32(len(t.place)) }) //nolint:gosec // no more than there are nodes
	return t
}

// walk visits the nodes of a domain in their order.
func (t *Tree) walk(d int32, visit func(node int32)) {
	if node := t.domains[d].node; node >= 0 {
		visit(node)
	}
	for _, child := range t.domains[d].children {
		t.walk(child, visit)
	}
}

func (t *Tree) add(d domain) int32 {
	at := int32(len(t.domains)) //nolint:gosec // a few for each node
	t.domains = append(t.domains, d)
	t.domains[d.parent].children = append(t.domains[d.parent].children, at)
	return at
}

// within reports whether a node is in a domain.
func (t *Tree) within(node, d int32) bool {
	_, known := t.nodes[node]
	return known && t.up(node, t.domains[d].level) == d
}

// Short returns a node of each domain of a level that lacks room for a number of pods, none for level 0. Slots has how many a node
// takes, by its index.
func (t *Tree) Short(slots []int32, level, pods int) (nodes []int32) {
	if level == 0 {
		return nil
	}
	room := t.room(slots)
	for _, d := range t.at(level) {
		if room[d] < pods {
			nodes = append(nodes, t.domains[d].example)
		}
	}
	return nodes
}

// MayHold reports whether a domain of a level has room for each of several numbers of pods, taken alone. Slots has for each how many a
// node takes, by its index.
func (t *Tree) MayHold(level int, pods []int, slots [][]int32) bool {
	short := map[int32]bool{}
	for i := range pods {
		for _, node := range t.Short(slots[i], level, pods[i]) {
			short[node] = true
		}
	}
	return slices.ContainsFunc(t.at(level), func(d int32) bool { return !t.domains[d].lacks && !short[t.domains[d].example] })
}

// Roomy returns a node of each domain of a level that has room for a number of pods, of the one with the least room first.
func (t *Tree) Roomy(slots []int32, level, pods int) (nodes []int32) {
	room := t.room(slots)
	roomy := slices.DeleteFunc(slices.Clone(t.at(level)), func(d int32) bool { return room[d] < pods })
	slices.SortStableFunc(roomy, func(a, b int32) int { return room[a] - room[b] })
	for _, d := range roomy {
		nodes = append(nodes, t.domains[d].example)
	}
	return nodes
}

// Domains returns the nodes of each domain of a level, in the order of the tree, without domains that lack a label.
func (t *Tree) Domains(level int) (nodes [][]int32) {
	for _, d := range t.at(level) {
		if t.domains[d].lacks {
			continue
		}
		var within []int32
		t.walk(d, func(node int32) { within = append(within, node) })
		nodes = append(nodes, within)
	}
	return nodes
}

// room returns how many pods have room in each domain.
func (t *Tree) room(slots []int32) []int {
	room := make([]int, len(t.domains))
	for i := len(t.domains) - 1; i > 0; i-- {
		d := &t.domains[i]
		if d.node >= 0 && int(d.node) < len(slots) {
			room[i] = int(slots[d.node])
		}
		room[d.parent] += room[i]
	}
	return room
}

// Lacks reports whether a node lacks a label of a level or of one above.
func (t *Tree) Lacks(node int32, level int) bool { return t.domains[t.up(node, level)].lacks }

// Near reports whether two nodes are in one domain of a level.
func (t *Tree) Near(a, b int32, level int) bool {
	return t.up(a, level) == t.up(b, level)
}

// up returns the domain of a level that a node is in.
func (t *Tree) up(node int32, level int) int32 { return t.above(t.nodes[node], level) }

// above returns the domain of a level that another domain is in, itself at its own level or at one below.
func (t *Tree) above(d int32, level int) int32 {
	for t.domains[d].level > level {
		d = t.domains[d].parent
	}
	return d
}

// at returns the domains of a level.
func (t *Tree) at(level int) []int32 { return t.byLevel[t.first[level]:t.first[level+1]] }
