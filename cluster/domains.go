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

// domainNumbers gives every value of a topology key its number. Snapshots share one, so that they agree in any
// order of calls.
type domainNumbers struct {
	mu    sync.Mutex // guards this and every domainTables with these numbers
	byKey map[string]map[string]int32
	given int // numbers of all keys
}

// of returns the number of the domain of a node, which may be nil. The caller holds the lock.
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
		n.given++
	}
	return id
}

// domainTables holds the Domains of the keys that somebody asked for. Snapshots
// between which no node came, went or changed its labels share one.
type domainTables struct {
	numbers *domainNumbers
	turn    int                     // counts the tables of a cluster
	carried Table[string, struct{}] // the keys of all labels of nodes
	byKey   map[string]*askedDomains
}

// askedDomains are Domains, and in which turn they were last asked for.
type askedDomains struct {
	*Domains
	turn int
}

// noDomains stands for every topology key that no node is labelled with.
var noDomains = &Domains{} //nolint:gochecknoglobals // a constant

// Domains returns the failure domains of a topology key. The first time that it is asked
// for a key, it walks over the nodes; later snapshots pay only for what changed, as long
// as somebody asks for it every now and then. A key that no node has a label of costs
// nothing. It takes a lock: ask once per pod, not per node.
func (s *Snapshot) Domains(key string) *Domains {
	t := s.domains
	if !s.Labelled(key) {
		return noDomains
	}
	t.numbers.mu.Lock()
	defer t.numbers.mu.Unlock()
	if d := t.byKey[key]; d != nil {
		d.turn = t.turn
		return d.Domains
	}
	d := &Domains{of: make([]int32, s.nodes.end)}
	for index := range d.of {
		d.of[index] = t.numbers.of(s.nodes.at(int32(index)), key)
	}
	d.end = len(t.numbers.byKey[key])
	t.byKey[key] = &askedDomains{d, t.turn}
	return d
}

// Labelled reports whether a node has a label of a key. It takes no lock.
func (s *Snapshot) Labelled(key string) bool {
	_, carried := s.domains.carried.Get(key)
	return carried
}

const (
	// idleTurns is for how many changes of labels the domains of a key are kept up to date
	// that nobody asks for.
	idleTurns = 16
	// spareNumbers is how many numbers are no waste, whatever they are of.
	spareNumbers = 4096
)

// domainsWriter is the changing side of domainTables.
type domainsWriter struct {
	last    *domainTables
	changed sets.Set[int32]     // nodes that came, went or changed labels since
	labels  []map[string]string // of the nodes, by index, as they were last counted
	carried *tableWriter[string, struct{}]
	nodes   map[string]int // how many nodes have a label, by its key
	spare   int            // how many numbers there may be, at least, of values that no node has
	enough  int            // numbers that may be given before the next check how many are in use
}

func newDomainsWriter() *domainsWriter {
	w := &domainsWriter{
		changed: sets.Set[int32]{}, carried: newTableWriter[string, struct{}](), nodes: map[string]int{},
		spare: spareNumbers, enough: spareNumbers + 1,
	}
	w.last = &domainTables{numbers: newDomainNumbers(), carried: w.carried.publish(), byKey: map[string]*askedDomains{}}
	return w
}

func newDomainNumbers() *domainNumbers { return &domainNumbers{byKey: map[string]map[string]int32{}} }

// publish returns the tables of the nodes as they are now. It says whether the numbers are
// other ones than before, so that nobody may compare.
func (w *domainsWriter) publish(nodes *nodeTable) (tables *domainTables, anew bool) {
	if w.changed.Len() == 0 {
		return w.last, false
	}
	w.count(nodes)
	numbers := w.last.numbers
	numbers.mu.Lock()
	defer numbers.mu.Unlock()
	next := &domainTables{
		numbers: numbers,
		turn:    w.last.turn + 1,
		carried: w.carried.publish(),
		byKey:   make(map[string]*askedDomains, len(w.last.byKey)),
	}
	for key, d := range w.last.byKey {
		if w.nodes[key] > 0 && next.turn-d.turn <= idleTurns {
			next.byKey[key] = &askedDomains{d.with(key, w.changed, nodes, numbers), d.turn}
		}
	}
	if anew = w.wasteful(numbers, nodes); anew {
		next.numbers, next.byKey = newDomainNumbers(), map[string]*askedDomains{}
	}
	w.last = next
	clear(w.changed)
	return next, anew
}

// count follows which labels nodes have.
func (w *domainsWriter) count(nodes *nodeTable) {
	for index := range w.changed {
		for int(index) >= len(w.labels) {
			w.labels = append(w.labels, nil)
		}
		var now map[string]string
		if node := nodes.at(index); node != nil {
			now = node.Labels
		}
		for key := range now {
			if w.nodes[key]++; w.nodes[key] == 1 {
				w.carried.set(key, struct{}{})
			}
		}
		for key := range w.labels[index] {
			if w.nodes[key]--; w.nodes[key] == 0 {
				delete(w.nodes, key)
				w.carried.remove(key)
			}
		}
		w.labels[index] = now
	}
}

// wasteful reports whether most numbers are of values that no node has. To find out takes a walk over
// the nodes, which is made when it may be so by what was found the last time.
func (w *domainsWriter) wasteful(numbers *domainNumbers, nodes *nodeTable) bool {
	if numbers.given < w.enough {
		return false
	}
	used := 0
	for key := range numbers.byKey {
		values := sets.Set[string]{}
		for index := range nodes.end {
			if node := nodes.at(int32(index)); node != nil {
				if value, labelled := node.Labels[key]; labelled {
					values.Insert(value)
				}
			}
		}
		used += values.Len()
	}
	w.enough = 2*used + w.spare + 1
	return numbers.given >= w.enough
}
