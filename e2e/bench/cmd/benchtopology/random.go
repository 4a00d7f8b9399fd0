package main

import (
	"math/rand/v2"
	"slices"

	"muster.dev/muster/placement/topology"
)

// size is how large random instances are.
type size struct{ fewest, most, slots, pods int }

// solved instances are for CBC, and small ones can be searched whole.
func solved() size { return size{fewest: 8, most: 64, slots: 8, pods: 96} }
func small() size  { return size{fewest: 3, most: 7, slots: 3, pods: 8} }

// treeLevels is how many levels of labels nodes have. A gang names some of them.
const treeLevels = 3

// drawn is an instance that is being made.
type drawn struct {
	instance
	random *rand.Rand
}

// alike is a random instance with pods of one kind, which ask for one of the first resource.
func alike(seed uint64, size size) *instance {
	d := &drawn{random: rand.New(rand.NewPCG(seed, 1))}
	d.tree(size)
	for n := range d.nodes {
		d.nodes[n].free = amounts{d.random.IntN(size.slots + 1)}
		d.nodes[n].there = []int{0}
	}
	d.kinds = []kind{{asks: amounts{1}}}
	d.demands()
	d.already(0)
	d.count(0, size)
	return &d.instance
}

// mixed is a random instance with pods of one to three kinds: workers, which ask for both resources, and others that ask for little
// of one of them. Workers may have to keep apart. Pods in slices are of one kind.
func mixed(seed uint64, size size) *instance {
	d := &drawn{random: rand.New(rand.NewPCG(seed, 2))}
	d.tree(size)
	for n := range d.nodes {
		d.nodes[n].free = amounts{d.random.IntN(2*size.slots + 1), d.random.IntN(3) / 2 * d.random.IntN(size.slots+1)}
	}
	d.kinds = []kind{{asks: amounts{1 + d.random.IntN(3), d.random.IntN(3)}, apart: d.random.IntN(6) == 0}}
	for range d.random.IntN(3) {
		d.kinds = append(d.kinds, kind{count: 1 + d.random.IntN(3), asks: amounts{1 + d.random.IntN(4)}})
	}
	for n := range d.nodes {
		d.nodes[n].there = make([]int, len(d.kinds))
	}
	if d.demands(); len(d.kinds) > 1 {
		d.slices = nil
	}
	d.already(0)
	d.count(0, size)
	return &d.instance
}

// tree draws nodes in zones, blocks and racks, and which of these levels a gang names. One node of twenty lacks a label.
func (d *drawn) tree(size size) {
	named := 1 + d.random.IntN(1<<treeLevels-1) // a bit for each level
	zones, blocks, racks := 1+d.random.IntN(3), 1+d.random.IntN(3), 1+d.random.IntN(4)
	for range size.fewest + d.random.IntN(size.most-size.fewest+1) {
		zone := d.random.IntN(zones)
		block := zone*blocks + d.random.IntN(blocks)
		rack := block*racks + d.random.IntN(racks)
		var path []int
		for level, value := range []int{zone, block, rack} {
			if d.random.IntN(60) == 0 {
				value = -1
			}
			if named>>level&1 == 1 {
				path = append(path, value)
			}
		}
		d.nodes, d.levels = append(d.nodes, node{path: path}), len(path)
	}
}

// demands draws what the gang asks for: up to three slices in one another, at the required level or below.
func (d *drawn) demands() {
	if d.random.IntN(2) == 0 {
		d.required = 1 + d.random.IntN(d.levels)
	}
	if d.random.IntN(2) == 0 {
		d.balanced = max(1, d.required+d.random.IntN(d.levels+2-d.required))
	}
	above, size := max(1, d.required), 1
	for range d.random.IntN(4) * d.random.IntN(2) {
		above += d.random.IntN(d.levels + 2 - above)
		d.slices = append(d.slices, topology.Slice{Level: above})
	}
	for i := range slices.Backward(d.slices) {
		size *= 1 + d.random.IntN(3)
		d.slices[i].Size = size
	}
}

// already draws pods of a kind that have nodes: in one instance of four.
func (d *drawn) already(kind int) {
	if d.random.IntN(4) > 0 {
		return
	}
	at := d.random.IntN(len(d.nodes))
	for n := range d.nodes {
		near := d.required == 0 || slices.Equal(d.nodes[n].path[:min(d.required, d.levels)], d.nodes[at].path[:min(d.required, d.levels)])
		if n == at || near && d.random.IntN(8) == 0 {
			d.nodes[n].there[kind] = 1
			if !d.kinds[kind].apart {
				d.nodes[n].there[kind] += d.random.IntN(2)
			}
		}
	}
}

// count draws how many pods of a kind there are, so that slices divide them: a part of the cluster's room, or of the room of one
// domain where all have to be in one.
func (d *drawn) count(kind int, size size) {
	d.kinds[kind].count = size.pods
	all := 0
	for _, domain := range d.domains(max(1, d.required)) {
		room := 0
		for _, n := range domain.nodes {
			room += d.room(n, kind)
		}
		if d.required > 0 {
			all = max(all, room)
		} else {
			all += room
		}
	}
	pods, step, there := 1+d.random.IntN(max(1, min(all, size.pods))), 1, d.there()
	if len(d.slices) > 0 {
		step = d.slices[0].Size
	}
	d.kinds[kind].count = max(1, (there+pods)/step)*step - there
	for d.kinds[kind].count <= 0 {
		d.kinds[kind].count += step
	}
}
