package cluster

import (
	"iter"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
)

// Domains are the failure domains that one topology key makes of the nodes of a
// snapshot: all nodes with the same value of that label are one domain. They are
// numbered, so that what is counted per domain can be kept in slices. A Domains is
// immutable and safe for concurrent use, and snapshots between which no node
// changed its domain mostly share one.
//
// A number belongs to the value of the label in all snapshots between which [Snapshot.Since] can tell what
// changed, and to no other value. A domain that is gone still costs the place of its number in such slices, and
// gets the number back when it returns. Once most numbers belong to values that no node has any more, such as
// host names of nodes that came and went, all values get new numbers and the journal restarts.
type Domains struct {
	of  []int32 // domain by index of the node; indexes beyond are in none
	end int

	grouping sync.Once
	members  []int32 // indexes of the nodes that have a domain, by domain
	first    []int32 // the members of domain id are members[first[id]:first[id+1]]
}

const noDomain = -1

// Of returns the number of the domain of the node under an index, -1 when there is no
// such node or it lacks the label. An empty value of the label is a domain like
// every other.
func (d *Domains) Of(index int32) int32 {
	if index < 0 || int(index) >= len(d.of) {
		return noDomain
	}
	return d.of[index]
}

// End is one more than the greatest number that was ever in use.
func (d *Domains) End() int { return d.end }

// Members walks over the indexes of the nodes of a domain, in ascending order.
// There are none for a number that is not in use.
func (d *Domains) Members(id int32) iter.Seq[int32] {
	if id < 0 || int(id) >= d.end {
		return slices.Values[[]int32](nil)
	}
	d.grouping.Do(d.group)
	return slices.Values(d.members[d.first[id]:d.first[id+1]])
}

// Size returns the number of nodes of a domain.
func (d *Domains) Size(id int32) int {
	if id < 0 || int(id) >= d.end {
		return 0
	}
	d.grouping.Do(d.group)
	return int(d.first[id+1] - d.first[id])
}

// group sorts the nodes by domain.
func (d *Domains) group() {
	d.first = make([]int32, d.end+1)
	for _, id := range d.of {
		if id != noDomain {
			d.first[id+1]++
		}
	}
	for id := range d.end {
		d.first[id+1] += d.first[id]
	}
	d.members = make([]int32, d.first[d.end])
	next := slices.Clone(d.first)
	for index, id := range d.of {
		if id != noDomain {
			d.members[next[id]] = int32(index)
			next[id]++
		}
	}
}

// with is d after changes of the nodes under some indexes, or d itself when
// they all stayed in their domains.
func (d *Domains) with(key string, changed sets.Set[int32], nodes *nodeTable, numbers *domainNumbers) *Domains {
	next := d
	for index := range changed {
		id := numbers.of(nodes.at(index), key)
		if id == next.Of(index) {
			continue
		}
		if next == d {
			next = &Domains{of: slices.Clone(d.of)}
		}
		for int(index) >= len(next.of) {
			next.of = append(next.of, noDomain)
		}
		next.of[index] = id
	}
	if next != d {
		next.end = len(numbers.byKey[key])
	}
	return next
}
