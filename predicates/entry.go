package predicates

import (
	"math/bits"
	"sync"
	"unsafe"

	"muster.dev/muster/cluster"
)

// entry is what a store knows about one class. Its lock is held while it is read.
type entry struct {
	class   *Class
	counted int64 // bytes, as the store accounts for them; guarded by the store

	mu         sync.Mutex
	prepared   bool
	pod        string // namespace/name of the pod that it was prepared with
	calls      int
	generation uint64
	checks     []keptCheck // those that concern the class
	rates      []weightedRate
	rated      cluster.Aspect // what the rates read together
	first      []Verdict      // by node index: the first verdict against the node
	totals     []int32        // by node index: the weighted sum of the rates
}

// keptCheck is a predicate that concerns the class, and its verdict by node index.
type keptCheck struct {
	name     string
	check    Check
	aspects  cluster.Aspect
	verdicts []Verdict
	// evaluated counts evaluations since they were last reported, by cause: the bit
	// of the aspect that changed, or causeNode.
	evaluated [causeNode + 1]int
}

// causeNode stands for a node that is new, or new to the class.
const causeNode = 32

// scratch is memory that updates use one after the other.
type scratch struct {
	changed []cluster.Aspect // by node index; all 0 between two uses
	touched []int32          // the indexes that are not
}

// prepare readies predicates and scores for the class, by one of its pods. An entry
// is prepared as a whole or, when a plugin panics, not at all.
func (e *entry) prepare(p *Profile, pod *cluster.Pod, snap *cluster.Snapshot) {
	e.checks, e.rates, e.rated = nil, nil, 0
	for _, predicate := range p.predicates {
		if check := predicate.For(pod, snap); check != nil {
			e.checks = append(e.checks, keptCheck{name: predicate.Name(), check: check, aspects: predicate.Aspects()})
		}
	}
	for _, score := range p.scores {
		if rate := score.For(pod, snap); rate != nil {
			e.rates = append(e.rates, weightedRate{rate: rate, weight: score.weight})
			e.rated |= score.Aspects()
		}
	}
	e.prepared, e.pod = true, pod.Namespace+"/"+pod.Name
}

// update brings the entry to a snapshot that is not older than its own.
func (e *entry) update(snap *cluster.Snapshot, s *scratch) {
	changes, replayable := snap.Since(e.generation)
	fresh := e.first == nil
	e.grow(snap.IndexEnd())
	if fresh || !replayable {
		for node := range snap.Nodes() {
			e.evaluate(node, cluster.AspectNode)
		}
	} else {
		e.replay(changes, snap, s)
	}
	e.generation = snap.Generation
}

// replay evaluates what the changes may have turned, each node once.
func (e *entry) replay(changes []cluster.Change, snap *cluster.Snapshot, s *scratch) {
	everywhere := s.gather(changes, snap.IndexEnd())
	if e.reads(everywhere) {
		for node := range snap.Nodes() {
			e.evaluate(node, everywhere|s.changed[node.Index])
		}
	} else {
		for _, index := range s.touched {
			if node := snap.Node(index); node != nil {
				e.evaluate(node, s.changed[index])
			}
		}
	}
	s.clear()
}

// evaluate asks those that read one of the aspects about a node; all of them when
// the node is new.
func (e *entry) evaluate(node *cluster.Node, aspects cluster.Aspect) {
	isNew := aspects&cluster.AspectNode == cluster.AspectNode
	first := Fits
	for i := range e.checks {
		c := &e.checks[i]
		switch cause := c.aspects & aspects; {
		case isNew:
			c.verdicts[node.Index] = c.check(node)
			c.evaluated[causeNode]++
		case cause != 0:
			c.verdicts[node.Index] = c.check(node)
			c.evaluated[bits.TrailingZeros32(uint32(cause))]++
		}
		if first == Fits {
			first = c.verdicts[node.Index]
		}
	}
	e.first[node.Index] = first
	if e.rated&aspects != 0 {
		var total int64
		for _, r := range e.rates {
			total += r.weight * r.rate(node)
		}
		e.totals[node.Index] = int32(total)
	}
}

// reads says whether anything depends on one of the aspects.
func (e *entry) reads(aspects cluster.Aspect) bool {
	read := e.rated
	for i := range e.checks {
		read |= e.checks[i].aspects
	}
	return read&aspects != 0
}

// grow makes room for node indexes below end.
func (e *entry) grow(end int) {
	more := max(end-len(e.first), 0)
	e.first = append(e.first, make([]Verdict, more)...)
	e.totals = append(e.totals, make([]int32, more)...)
	for i := range e.checks {
		e.checks[i].verdicts = append(e.checks[i].verdicts, make([]Verdict, more)...)
	}
}

// size is what the entry takes, in bytes.
func (e *entry) size() int64 {
	const verdict = int(unsafe.Sizeof(Verdict(0)))
	size := cap(e.first)*verdict + cap(e.totals)*4
	for i := range e.checks {
		size += cap(e.checks[i].verdicts)*verdict + int(unsafe.Sizeof(keptCheck{}))
	}
	return int64(size + len(e.class.canonical) + int(unsafe.Sizeof(*e)))
}

// gather unites the changes of each node, and returns those that name none.
func (s *scratch) gather(changes []cluster.Change, end int) (everywhere cluster.Aspect) {
	s.changed = append(s.changed, make([]cluster.Aspect, max(end-len(s.changed), 0))...)
	for _, change := range changes {
		if change.Node < 0 {
			everywhere |= change.Aspects
			continue
		}
		if s.changed[change.Node] == 0 && change.Aspects != 0 {
			s.touched = append(s.touched, change.Node)
		}
		s.changed[change.Node] |= change.Aspects
	}
	return everywhere
}

func (s *scratch) clear() {
	for _, index := range s.touched {
		s.changed[index] = 0
	}
	s.touched = s.touched[:0]
}
