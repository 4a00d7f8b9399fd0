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
// changed its domain share one.
//
// A number belongs to the value of the label for the life of the cluster view and
// is never given to another one: a domain that is gone costs the place of its
// number in such slices, and gets it back when it returns. That is one number for
// every name that a node ever had, where the key is kubernetes.io/hostname.
type Domains struct {
	// Key is the topology key: the name of a node label.
	Key string

	of  []int32 // domain by index of the node; indexes beyond are in none
	end int

	grouping sync.Once
	members  []int32 // indexes of the nodes that have a domain, by domain
	first    []int32 // the members of domain id are members[first[id]:first[id+1]]
}

const noDomain = -1

// Of is the number of the domain of the node under an index, -1 when there is no
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

// Size is the number of nodes of a domain.
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
func (d *Domains) with(changed sets.Set[int32], nodes *nodeTable, numbers *domainNumbers) *Domains {
	next := d
	for index := range changed {
		id := numbers.of(nodes.at(index), d.Key)
		if id == next.Of(index) {
			continue
		}
		if next == d {
			next = &Domains{Key: d.Key, of: slices.Clone(d.of)}
		}
		for int(index) >= len(next.of) {
			next.of = append(next.of, noDomain)
		}
		next.of[index] = id
	}
	if next != d {
		next.end = len(numbers.byKey[d.Key])
	}
	return next
}

// domainNumbers gives every value of a topology key its number. All snapshots of
// a cluster share one, so that they agree, whichever of them is asked first.
type domainNumbers struct {
	mu    sync.Mutex // guards this and every domainTables with these numbers
	byKey map[string]map[string]int32
}

// of is the number of the domain of a node, which may be nil. The caller holds the lock.
func (n *domainNumbers) of(node *Node, key string) int32 {
	if node == nil {
		return noDomain
	}
	value, labelled := node.Labels[key]
	if !labelled {
		return noDomain
	}
	id, given := n.byKey[key][value]
	if !given {
		if n.byKey[key] == nil {
			n.byKey[key] = map[string]int32{}
		}
		id = int32(len(n.byKey[key])) //nolint:gosec // fewer values than 2³¹
		n.byKey[key][value] = id
	}
	return id
}

// domainTables holds the Domains of the keys that somebody asked for. Snapshots
// between which no node came, went or changed its labels share one.
type domainTables struct {
	numbers *domainNumbers
	byKey   map[string]*Domains
}

// Domains returns the failure domains of a topology key. The first time that any
// snapshot is asked for a key, it walks over the nodes; later snapshots pay only
// for what changed. It takes a lock: ask once per pod, not per node.
func (s *Snapshot) Domains(key string) *Domains {
	t := s.domains
	t.numbers.mu.Lock()
	defer t.numbers.mu.Unlock()
	if d := t.byKey[key]; d != nil {
		return d
	}
	d := &Domains{Key: key, of: make([]int32, s.nodes.end)}
	for index := range d.of {
		d.of[index] = t.numbers.of(s.nodes.at(int32(index)), key)
	}
	d.end = len(t.numbers.byKey[key])
	t.byKey[key] = d
	return d
}

// domainsWriter is the changing side of domainTables.
type domainsWriter struct {
	last    *domainTables
	changed sets.Set[int32] // nodes that came, went or changed labels since
}

func newDomainsWriter() *domainsWriter {
	numbers := &domainNumbers{byKey: map[string]map[string]int32{}}
	return &domainsWriter{
		last:    &domainTables{numbers: numbers, byKey: map[string]*Domains{}},
		changed: sets.Set[int32]{},
	}
}

func (w *domainsWriter) publish(nodes *nodeTable) *domainTables {
	if w.changed.Len() == 0 {
		return w.last
	}
	numbers := w.last.numbers
	numbers.mu.Lock()
	defer numbers.mu.Unlock()
	next := &domainTables{numbers: numbers, byKey: make(map[string]*Domains, len(w.last.byKey))}
	for key, d := range w.last.byKey {
		next.byKey[key] = d.with(w.changed, nodes, numbers)
	}
	w.last = next
	clear(w.changed)
	return next
}
