package main

import (
	"fmt"
	"slices"

	"muster.dev/muster/placement/topology"
)

// amounts are how much of each resource there is, or is asked for.
type amounts [2]int

// node is a node of an instance.
type node struct {
	path  []int // numbers the domains that it is in, by level, the uppermost first; -1 for a label that it lacks
	free  amounts
	there []int // pods of the gang that it has already, by kind
}

// kind is a number of pods that are alike.
type kind struct {
	count int
	asks  amounts
	apart bool // no two of them on one node
}

// instance is a gang and a cluster for it.
type instance struct {
	nodes              []node
	kinds              []kind
	levels             int // of labels that the gang names; nodes are the one below
	required, balanced int // levels, 0 for none
	slices             []topology.Slice
}

// counted is the lowest level whose domains a gang is to use few of: of labels, or nodes if it asks something of these.
func (in *instance) counted() int { return max(in.levels, in.required, in.balanced) }

// pods is how many pods are to be placed.
func (in *instance) pods() (pods int) {
	for _, k := range in.kinds {
		pods += k.count
	}
	return pods
}

// room is how many pods of a kind a node takes by itself.
func (in *instance) room(n, k int) int {
	room, kind := in.kinds[k].count, &in.kinds[k]
	for resource, asked := range kind.asks {
		if asked > 0 {
			room = min(room, in.nodes[n].free[resource]/asked)
		}
	}
	if kind.apart {
		room = min(room, 1-min(1, in.nodes[n].there[k]))
	}
	return max(0, room)
}

// domain is a part of the network.
type domain struct {
	level int
	nodes []int
	lacks bool // its nodes lack a label of its level or of one above
	bare  bool // they lack the one of its level
	there int  // pods of the gang
}

// domains returns the domains of a level, each with its nodes.
func (in *instance) domains(level int) (domains []*domain) {
	known := map[string]*domain{}
	for n := range in.nodes {
		node := &in.nodes[n]
		name := fmt.Sprint(node.path[:min(level, in.levels)])
		if level > in.levels {
			name = fmt.Sprint(n)
		}
		d := known[name]
		if d == nil {
			d = &domain{
				level: level, lacks: slices.Contains(node.path[:min(level, in.levels)], -1), bare: level <= in.levels && node.path[level-1] < 0,
			}
			known[name], domains = d, append(domains, d)
		}
		d.nodes = append(d.nodes, n)
		for _, pods := range node.there {
			d.there += pods
		}
	}
	return domains
}

// there is how many pods of the gang have nodes already.
func (in *instance) there() (pods int) {
	for n := range in.nodes {
		for _, there := range in.nodes[n].there {
			pods += there
		}
	}
	return pods
}

// closed reports whether no pod may come to a domain.
func (in *instance) closed(d *domain) bool {
	if d.level == in.required && (d.lacks || d.there < in.there()) {
		return true
	}
	return d.bare && slices.ContainsFunc(in.slices, func(s topology.Slice) bool { return s.Level == d.level && s.Size > 1 })
}

// places are how many pods of each kind each node gets: by kind, then by node.
type places [][]int

// worth is how good places are: the lower, the better.
type worth struct {
	used      []int // domains with pods, by level from 1 to the lowest that counts; not the ones that had some before
	imbalance int   // the sum of the squares of what the domains of the balanced level have
}

// compare orders worths: few domains first, the upper levels before the lower ones, then balance.
func (w *worth) compare(o *worth) int {
	if used := slices.Compare(w.used, o.used); used != 0 {
		return used
	}
	return w.imbalance - o.imbalance
}

// lowest is how many domains are used at the lowest level of labels.
func (w *worth) lowest(in *instance) int { return w.used[in.levels-1] }

// judge holds places against what is asked, and says what they are worth.
func (in *instance) judge(p places) (*worth, error) {
	if err := in.holds(p); err != nil {
		return nil, err
	}
	w := &worth{}
	for level := 1; level <= in.levels+1; level++ {
		used, with := 0, 0
		for _, d := range in.domains(level) {
			pods := p.in(d)
			if err := in.keeps(d, pods); err != nil {
				return nil, err
			}
			if pods > 0 {
				with++
			}
			if pods > 0 && d.there == 0 {
				used++
			}
			if level == in.balanced {
				w.imbalance += (d.there + pods) * (d.there + pods)
			}
		}
		if level == in.required && with > 1 {
			return nil, fmt.Errorf("pods are in %d domains of level %d, which shall be one", with, level)
		}
		if level <= in.counted() {
			w.used = append(w.used, used)
		}
	}
	return w, nil
}

// in is how many pods come to a domain.
func (p places) in(d *domain) (pods int) {
	for _, of := range p {
		for _, n := range d.nodes {
			pods += of[n]
		}
	}
	return pods
}

// holds reports whether each node has room, and all pods are placed.
func (in *instance) holds(p places) error {
	for n := range in.nodes {
		left := in.nodes[n].free
		for k, kind := range in.kinds {
			for resource, asked := range kind.asks {
				left[resource] -= asked * p[k][n]
			}
			if p[k][n] > in.room(n, k) {
				return fmt.Errorf("node %d has %d pods of kind %d", n, p[k][n], k)
			}
		}
		if slices.Min(left[:]) < 0 {
			return fmt.Errorf("node %d has %v too much", n, left)
		}
	}
	for k, kind := range in.kinds {
		placed := 0
		for _, pods := range p[k] {
			placed += pods
		}
		if placed != kind.count {
			return fmt.Errorf("%d pods of kind %d are placed, of %d", placed, k, kind.count)
		}
	}
	return nil
}

// keeps reports whether a domain may have pods beside the ones that are there.
func (in *instance) keeps(d *domain, pods int) error {
	if pods > 0 && in.closed(d) {
		return fmt.Errorf("%d pods are in a domain of level %d that is closed to them", pods, d.level)
	}
	for _, s := range in.slices {
		if s.Level == d.level && (d.there+pods)%s.Size != 0 {
			return fmt.Errorf("a domain of level %d has %d pods in slices of %d", d.level, d.there+pods, s.Size)
		}
	}
	return nil
}
