package predicates

import (
	"slices"
	"unsafe"

	"muster.dev/muster/cluster"
)

// presence tells in which failure domains of one topology key something is found, as
// pods that a selector matches. It keeps a bit for each node and each domain.
//
// An update is follow, then put for each node that changed, then settle. A supposition
// is put, then settle.
type presence struct {
	key string
	// found is for the owner to note that the node at hand has it. It is false between
	// two puts.
	found bool

	was     *cluster.Domains // the domains of the field domains
	now     *cluster.Domains // the domains that put moves to
	nodes   bitset           // by node index
	domains bitset           // by domain
	present int              // domains in the set
	left    []int32          // domains with one node less that has it, since settle
}

// presences has one for each topology key.
type presences []*presence

// of finds or adds the one of a key. None is added without a snapshot: the result is nil.
func (all *presences) of(key string, snap *cluster.Snapshot) *presence {
	for _, p := range *all {
		if p.key == key {
			return p
		}
	}
	if snap == nil {
		return nil
	}
	p := &presence{key: key}
	p.follow(snap)
	*all = append(*all, p)
	return p
}

// at reports whether one of them is found in the node's domain.
func (all presences) at(index int32) bool {
	for _, p := range all {
		if _, present := p.at(index); present {
			return true
		}
	}
	return false
}

// follow prepares for the nodes of a snapshot.
func (p *presence) follow(snap *cluster.Snapshot) {
	p.now = snap.Domains(p.key)
	if p.was == nil {
		p.was = p.now
	}
	p.nodes, p.domains = p.nodes.upTo(snap.IndexEnd()), p.domains.upTo(p.now.End())
}

// put takes in what was found on a node, and notes the domain if it is new there.
func (p *presence) put(index int32, noted *reach) {
	from, to := p.was.Of(index), p.now.Of(index)
	before := p.nodes.has(index)
	if before && from >= 0 && (!p.found || from != to) {
		p.left = append(p.left, from)
	}
	if p.found && to >= 0 && !p.domains.has(to) {
		p.domains.add(to)
		p.present++
		noted.turn(p.now, to)
	}
	if p.found {
		p.nodes.add(index)
	} else if before {
		p.nodes.remove(index)
	}
	p.found = false
}

// settle looks which of the domains that lost it on a node have it on another one, and
// notes the others.
func (p *presence) settle(noted *reach) {
	p.was = p.now
	for _, id := range p.left {
		if p.domains.has(id) && !p.amongMembers(id) {
			p.domains.remove(id)
			p.present--
			noted.turn(p.now, id)
		}
	}
	p.left = p.left[:0]
}

func (p *presence) amongMembers(id int32) bool {
	for index := range p.now.Members(id) {
		if p.nodes.has(index) {
			return true
		}
	}
	return false
}

// at returns the domain of a node, -1 when it has none, and whether it is found there.
func (p *presence) at(index int32) (domain int32, present bool) {
	domain = p.now.Of(index)
	return domain, domain >= 0 && p.domains.has(domain)
}

// size is in bytes. The domains belong to the snapshot.
func (p *presence) size() int64 {
	return int64(unsafe.Sizeof(*p)) + int64(cap(p.nodes)+cap(p.domains))*int64(unsafe.Sizeof(uint64(0))) +
		int64(cap(p.left))*int64(unsafe.Sizeof(int32(0)))
}

// bitset is a set of small numbers.
type bitset []uint64

// upTo makes room for numbers below end.
func (b bitset) upTo(end int) bitset {
	words := (end + 63) / 64
	return slices.Grow(b, max(0, words-len(b)))[:max(words, len(b))]
}

func (b bitset) has(n int32) bool { return b[n/64]&(1<<(n%64)) != 0 }
func (b bitset) add(n int32)      { b[n/64] |= 1 << (n % 64) }
func (b bitset) remove(n int32)   { b[n/64] &^= 1 << (n % 64) }
