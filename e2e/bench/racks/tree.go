package racks

// tree is the domains of a world with the room for a job in each.
type tree struct {
	job  *job
	root *domain
	step int // how many pods a slice has, which is on one node
}

// domain is a domain of a tree.
type domain struct {
	children  []*domain
	level     int
	node      int32
	slots     int // whole slices
	pods      int // that have room
	has, free int64
}

// newTree returns the domains as a job sees them whose slices have a number of pods.
func newTree(w *world, j *job, step int) *tree {
	t := &tree{job: j, root: &domain{}, step: step}
	var block, rack *domain
	for i, pods := range w.slots(j) {
		n := &w.nodes[i]
		if i == 0 || n.block != w.nodes[i-1].block {
			block = t.root.add(levelBlock)
		}
		if i == 0 || n.rack != w.nodes[i-1].rack {
			rack = block.add(levelRack)
		}
		leaf := rack.add(levelNode)
		leaf.node = int32(i)
		for _, d := range []*domain{leaf, rack, block, t.root} {
			d.slots += pods / step
			d.pods += pods
			d.has += n.has
			d.free += n.free
		}
	}
	return t
}

func (d *domain) add(level int) *domain {
	child := &domain{level: level}
	d.children = append(d.children, child)
	return child
}

// at returns the domains of a level in a domain.
func (d *domain) at(level int) []*domain {
	if d.level == level {
		return []*domain{d}
	}
	var all []*domain
	for _, child := range d.children {
		all = append(all, child.at(level)...)
	}
	return all
}

// use is how much of a domain is in use with more pods, as a part.
func (d *domain) use(more int64) float64 { return float64(d.has-d.free+more) / float64(d.has) }
