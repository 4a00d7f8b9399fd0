package topology

import "slices"

// bounds say which parts of a tree cannot be in a division that is better than one that is known.
type bounds struct {
	pods int
	best cost
	// need is how many domains the rest of the pods takes at the least, if a number of them is left: by the level of the part, whose
	// domains and the ones below come on top of it, as in [cost].
	need [][]uint64
}

// boundsBy returns the bounds by a division, nil for none.
func (p *packing) boundsBy(known *Division) *bounds {
	if known == nil {
		return nil
	}
	nodes := p.tree.Levels + 1
	b := &bounds{pods: p.ask.Pods, best: known.cost, need: make([][]uint64, nodes+1)}
	above := uint64(0)
	var fewest [][]uint64
	for level := range nodes + 1 {
		fewest = append(fewest, p.fewest(level))
	}
	for level := range b.need {
		b.need[level] = make([]uint64, b.pods+1)
		for pods := range b.need[level] {
			b.need[level][pods] = above
			for below := level; below <= nodes; below++ {
				b.need[level][pods] += fewest[below][pods]
			}
		}
		above += fewest[level][b.pods]
	}
	return b
}

// fewest returns how many domains of a level each number of pods takes at the least, as in [cost].
func (p *packing) fewest(level int) []uint64 {
	fewest := make([]uint64, p.ask.Pods+1)
	if level == 0 || level > p.tree.Levels && p.nodesLast {
		return fewest
	}
	at, room := 0, 0
	var rooms []int
	for _, d := range p.tree.at(level) {
		if p.there[d] > 0 {
			room += int(p.slots[d]) // it costs nothing
		} else {
			rooms = append(rooms, int(p.slots[d]))
		}
	}
	slices.Sort(rooms)
	slices.Reverse(rooms)
	for pods := range fewest {
		for ; room < pods && at < len(rooms); at++ {
			room += rooms[at]
		}
		fewest[pods] = uint64(at) * usedAt(level)
	}
	return fewest
}

// allow reports whether a part with a number of pods at that cost may be in a division that is as good as the known one.
func (b *bounds) allow(level, pods int, c cost) bool {
	if b == nil {
		return true
	}
	used := c.used + b.need[level][b.pods-pods]
	return used < b.best.used || used == b.best.used && c.uneven <= b.best.uneven
}
