package topology

import (
	"math"
	"slices"
)

// Shares are how many pods each of several domains of a level has: all pods together, each share in a domain of its own.
type Shares struct {
	Level int
	Sizes []int
}

// total is how many pods all shares have.
func (s *Shares) total() (pods int) {
	for _, size := range s.Sizes {
		pods += size
	}
	return pods
}

// packShares is Pack for pods that are divided into shares. The division leaves as little as possible over in the domains that have
// them.
func (t *Tree) packShares(slots []int32, ask *Ask, late func() bool) (*Division, *Lack) {
	p := newPacking(t, slots, ask, late)
	if int(p.there[0])+ask.Pods != ask.Shares.total() {
		return nil, p.lackOfShares(0)
	}
	candidates, lack := p.candidates()
	var best *allotment
	for _, within := range candidates {
		if p.cut = late(); p.cut {
			lack = nil
			break
		}
		switch a := p.allot(within); {
		case a == nil:
			lack = p.lackOfShares(within)
		case best == nil || a.left < best.left:
			best = a
		}
	}
	if best == nil {
		return nil, lack
	}
	best.Late = best.Late || p.cut
	t.sort(&best.Division)
	return &best.Division, nil
}

// allotment is a division in shares, and what it leaves over.
type allotment struct {
	Division
	left int
}

// mostAllotted bounds how often shares are allotted again, as the nodes of a domain turn out to take fewer pods than have room in it.
const mostAllotted = 64

// allot divides shares over domains within another one, nil if there is no room.
func (p *packing) allot(within int32) *allotment {
	domains := p.domainsOf(within)
	left := make([][]int, len(p.ask.Shares.Sizes))
	for i, size := range p.ask.Shares.Sizes {
		left[i] = make([]int, len(domains))
		for j, d := range domains {
			there := int(p.there[d])
			switch left[i][j] = there + int(p.slots[d]) - size; {
			case left[i][j] < 0, there > size:
				left[i][j] = noRoom
			case there > 0: // it has to have a share
				left[i][j] -= occupied
			}
		}
	}
	for range mostAllotted {
		to := assign(left)
		if to == nil || !p.keepsAll(domains, to) {
			return nil
		}
		a := &allotment{Division: Division{Within: p.tree.domains[within].example}}
		failed := false
		for i, j := range to {
			if !p.divideShare(domains[j], p.ask.Shares.Sizes[i], a) {
				left[i][j], failed = noRoom, true
			}
		}
		if !failed {
			return a
		}
	}
	return nil
}

// noRoom and occupied are far more than a domain has left.
const (
	occupied = 1 << 32
	noRoom   = 1 << 48
)

// domainsOf returns the domains of the level of shares within another one.
func (p *packing) domainsOf(within int32) (domains []int32) {
	for _, d := range p.tree.at(p.ask.Shares.Level) {
		if !p.tree.domains[d].lacks && p.tree.above(d, p.tree.domains[within].level) == within {
			domains = append(domains, d)
		}
	}
	return domains
}

// keepsAll reports whether each domain with pods has a share.
func (p *packing) keepsAll(domains []int32, to []int) bool {
	kept := int32(0)
	for _, j := range to {
		kept += p.there[domains[j]]
	}
	return kept == p.there[0]
}

// divideShare divides a share over the nodes of its domain, and reports whether it has room there.
func (p *packing) divideShare(d int32, size int, to *allotment) bool {
	ask := &Ask{Pods: size - int(p.there[d]), Required: p.ask.Shares.Level, Slices: p.ask.Slices}
	if p.ask.Balanced > ask.Required {
		ask.Balanced = p.ask.Balanced
	}
	for _, share := range p.ask.There {
		if p.tree.within(share.Node, d) {
			ask.There = append(ask.There, share)
		}
	}
	if ask.Pods == 0 {
		return true
	}
	slots := make([]int32, len(p.slotsOfNodes))
	p.tree.walk(d, func(node int32) {
		if int(node) < len(slots) {
			slots[node] = p.slotsOfNodes[node]
		}
	})
	division, _ := p.tree.Pack(slots, ask, p.late)
	if division == nil {
		return false
	}
	to.Nodes = append(to.Nodes, division.Nodes...)
	to.Late = to.Late || division.Late
	to.left += int(p.slots[d]) - ask.Pods
	return true
}

// lackOfShares names the first share without room, from the largest one on.
func (p *packing) lackOfShares(within int32) *Lack {
	lack := &Lack{Within: -1}
	sizes := slices.Sorted(slices.Values(p.ask.Shares.Sizes))
	slices.Reverse(sizes)
	domains := p.domainsOf(within)
	slices.SortStableFunc(domains, func(a, b int32) int { return int(p.slots[b] + p.there[b] - p.slots[a] - p.there[a]) })
	lack.Domains = len(domains)
	for i, size := range sizes {
		if i >= len(domains) {
			lack.Share = size
			return lack
		}
		d := domains[i]
		if room := int(p.slots[d] + p.there[d]); room < size {
			lack.Within, lack.Pods, lack.Share = p.tree.domains[d].example, room, size
			return lack
		}
	}
	return lack
}

// assign returns for each row another column, so that the sum of the costs is the least; nil if there is none. It is the Hungarian
// algorithm with potentials (Kuhn, 1955), which takes rows² × columns steps.
func assign(costs [][]int) (columns []int) {
	rows := len(costs)
	if rows == 0 || len(costs[0]) < rows {
		return nil
	}
	width := len(costs[0])
	a := assignment{
		costs: costs, ofRow: make([]int, rows+1), ofColumn: make([]int, width+1), row: make([]int, width+1), way: make([]int, width+1),
	}
	for row := 1; row <= rows; row++ {
		a.add(row)
	}
	columns = make([]int, rows)
	for column, row := range a.row[1:] {
		if row == 0 {
			continue
		}
		if columns[row-1] = column; costs[row-1][column] >= noRoom {
			return nil
		}
	}
	return columns
}

// assignment is how far rows have columns. Both count from 1 on; row 0 and column 0 are none.
type assignment struct {
	costs           [][]int
	ofRow, ofColumn []int // potentials
	row             []int // that has a column
	way             []int // from a column back to where it was reached from
}

// add gives another row a column, and others of the rows before another one where that costs less in sum.
func (a *assignment) add(row int) {
	least, seen := make([]int, len(a.row)), make([]bool, len(a.row))
	for j := range least {
		least[j] = math.MaxInt
	}
	at := 0
	for a.row[0] = row; a.row[at] != 0; {
		seen[at] = true
		at = a.reach(at, least, seen)
	}
	for ; at != 0; at = a.way[at] {
		a.row[at] = a.row[a.way[at]]
	}
}

// reach returns the column that is the nearest to the ones that are seen, with the row of one of them, and takes in its distance.
func (a *assignment) reach(at int, least []int, seen []bool) (next int) {
	from, delta := a.row[at], math.MaxInt
	for j := 1; j < len(least); j++ {
		if seen[j] {
			continue
		}
		if c := a.costs[from-1][j-1] - a.ofRow[from] - a.ofColumn[j]; c < least[j] {
			least[j], a.way[j] = c, at
		}
		if least[j] < delta {
			delta, next = least[j], j
		}
	}
	for j := range least {
		if seen[j] {
			a.ofRow[a.row[j]] += delta
			a.ofColumn[j] -= delta
		} else if least[j] != math.MaxInt {
			least[j] -= delta
		}
	}
	return next
}
