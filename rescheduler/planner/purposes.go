package planner

import (
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
)

// purposes tell what items move for.
type purposes struct {
	*state

	roster *roster
	queue  *queue
}

// serves reports whether an item moves for a pod of at least that priority, or for itself. A gang moves for
// every pod that any of its pods moves for.
func (p *purposes) serves(at int32, highest map[int32]int32, least int32) bool {
	return p.roster.wished(&p.items[at]) || slices.ContainsFunc(p.roster.units[p.items[at].unit].items, func(member int32) bool {
		priority, some := highest[p.items[member].origin]
		return some && priority >= least
	})
}

// beneficiaries returns, by the nodes that others leave for that, the highest priorities that room is made for
// in the end.
func (p *purposes) beneficiaries() map[int32]int32 {
	highest, changed := map[int32]int32{}, true
	raise := func(node, priority int32) {
		if known, some := highest[node]; !some || known < priority {
			highest[node], changed = priority, true
		}
	}
	for node, closed := range p.closed {
		if closed {
			raise(int32(node), math.MaxInt32)
		}
	}
	for g := range p.queue.groups {
		for _, at := range p.queue.groups[g].items {
			if i := &p.items[at]; i.at >= 0 {
				raise(i.at, i.limit)
			}
		}
	}
	for _, at := range p.gone {
		if i := &p.items[at]; i.at >= 0 && p.roster.wished(i) {
			raise(i.at, i.limit)
		}
	}
	for changed {
		changed = false
		for _, at := range p.gone {
			if priority, some := highest[p.items[at].origin]; some && p.items[at].at >= 0 {
				raise(p.items[at].at, priority)
			}
		}
	}
	return highest
}

// wake is all that items move for.
type wake struct {
	pending sets.Set[int32] // items
	leaving sets.Set[int32] // items with a wish
	nodes   sets.Set[int32] // that others leave
}

// wakeOf returns what items move for, directly or by way of others.
func (p *purposes) wakeOf(items ...int32) wake {
	w := wake{pending: sets.New[int32](), leaving: sets.New[int32](), nodes: sets.New[int32]()}
	for _, at := range items {
		p.follow(at, w)
	}
	return w
}

func (p *purposes) follow(at int32, w wake) {
	i := &p.items[at]
	if i.pending() {
		w.pending.Insert(at)
		return
	}
	for _, member := range p.roster.units[i.unit].items {
		if p.items[member].wish != nil {
			w.leaving.Insert(member)
		}
		node := p.items[member].origin
		if w.nodes.Has(node) {
			continue
		}
		w.nodes.Insert(node)
		for _, other := range p.on[node] {
			if o := &p.items[other]; o.pending() || o.away() {
				p.follow(other, w)
			}
		}
	}
}
