package predicates

import (
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"

	"muster.dev/muster/cluster"
)

// Concurrent is a [Check] that several goroutines may ask at a time, while nobody tells it of nodes: it keeps nothing
// between two verdicts. Others are asked by one goroutine, about all nodes.
type Concurrent interface {
	Check
	Concurrent()
}

// Concurrent implements [Concurrent]: it sees nothing but the node.
func (CheckFunc) Concurrent() {}

func (*fitCheck) Concurrent()                {}
func (*nodeAffinityCheck) Concurrent()       {}
func (conditionsCheck) Concurrent()          {}
func (*podAffinityCheck) Concurrent()        {}
func (*spreadCheck) Concurrent()             {}
func (*volumeRestrictionsCheck) Concurrent() {}
func (*volumeZoneCheck) Concurrent()         {}

const (
	// leastTogether is how many nodes it takes for helpers to be worth it: some hundred microseconds of work.
	leastTogether = 256
	// partOfNodes is how many nodes somebody takes at a time.
	partOfNodes = 64
)

// helpers are goroutines that may work at a time beside the callers, one for each core but one. There may be
// none.
type helpers chan struct{}

func newHelpers() helpers { return make(helpers, runtime.GOMAXPROCS(0)-1) }

// share does all parts of some work, in any order: the caller works with all helpers that are free. If a part
// panics, share panics likewise, once nobody works any more.
func (h helpers) share(parts int, do func(part int)) {
	var next atomic.Int64
	var failure atomic.Pointer[any]
	work := func() {
		defer func() {
			if failed := recover(); failed != nil {
				failure.CompareAndSwap(nil, &failed)
				next.Store(int64(parts))
			}
		}()
		for part := next.Add(1); part <= int64(parts); part = next.Add(1) {
			do(int(part) - 1)
		}
	}
	var working sync.WaitGroup
	for more := parts - 1; more > 0 && h.begin(); more-- {
		working.Go(func() {
			defer h.end()
			work()
		})
	}
	work()
	working.Wait()
	if failed := failure.Load(); failed != nil {
		panic(*failed)
	}
}

// begin reports whether a helper is free, who must call end.
func (h helpers) begin() bool {
	select {
	case h <- struct{}{}:
		return true
	default:
		return false
	}
}

func (h helpers) end() { <-h }

// over visits all nodes, as share does parts.
func (h helpers) over(nodes []*cluster.Node, visit func(*cluster.Node)) {
	h.share((len(nodes)+partOfNodes-1)/partOfNodes, func(part int) {
		for _, node := range nodes[part*partOfNodes : min((part+1)*partOfNodes, len(nodes))] {
			visit(node)
		}
	})
}

// asked returns the checks of a judgement by how they may be asked.
func (j *Judgement) asked() (together, alone []int) {
	for i, check := range j.checks {
		switch _, concurrent := check.(Concurrent); {
		case check == nil:
		case concurrent:
			together = append(together, i)
		default:
			alone = append(alone, i)
		}
	}
	return together, alone
}

// judgeAll judges nodes that are unjudged, each once, with the same outcome as if judge did.
func (e *entry) judgeAll(nodes []*cluster.Node, h helpers) {
	if len(nodes) < leastTogether || cap(h) == 0 {
		for _, node := range nodes {
			e.judge(node)
		}
		return
	}
	j, done := e.judgement, false
	defer func() {
		if !done {
			e.judgement, e.evaluated = nil, nil
		}
	}()
	together, alone := j.asked()
	h.over(nodes, func(node *cluster.Node) {
		against, first := uint32(0), Fits
		for _, i := range together {
			if verdict := j.checks[i].Verdict(node); verdict != Fits {
				if against == 0 {
					first = verdict
				}
				against |= 1 << i
			}
		}
		e.against[node.Index], e.first[node.Index], e.totals[node.Index] = against, first, j.alone(node)
	})
	for _, i := range alone {
		for _, node := range nodes {
			verdict := j.checks[i].Verdict(node)
			if verdict == Fits {
				continue
			}
			if i < bits.TrailingZeros32(e.against[node.Index]) {
				e.first[node.Index] = verdict
			}
			e.against[node.Index] |= 1 << i
		}
	}
	for _, checks := range [][]int{together, alone} {
		for _, i := range checks {
			e.evaluated[i][causeNode] += len(nodes)
		}
	}
	done = true
}

// firsts returns the first verdicts on nodes, by index; unjudged for others.
func (j *Judgement) firsts(nodes []*cluster.Node, end int, h helpers) []Verdict {
	firsts, by := make([]Verdict, end), make([]uint8, end) // the check that the verdict is of
	for i := range firsts {
		firsts[i] = unjudged
	}
	together, alone := j.asked()
	h.over(nodes, func(node *cluster.Node) {
		firsts[node.Index], by[node.Index] = Fits, mostPredicates
		for _, i := range together {
			if verdict := j.checks[i].Verdict(node); verdict != Fits {
				firsts[node.Index], by[node.Index] = verdict, uint8(i) //nolint:gosec // there are at most mostPredicates
				return
			}
		}
	})
	for _, i := range alone {
		for _, node := range nodes {
			if i > int(by[node.Index]) {
				continue
			}
			if verdict := j.checks[i].Verdict(node); verdict != Fits {
				firsts[node.Index], by[node.Index] = verdict, uint8(i) //nolint:gosec // there are at most mostPredicates
			}
		}
	}
	return firsts
}

// JudgeAll judges the nodes of some indexes, by several goroutines where cores are free, so that later
// questions about each of them need not wait. A negative index stands for no node.
func (v *View) JudgeAll(indexes []int32) {
	if v.trial != nil || cap(v.store.helpers) == 0 || !v.lacks(indexes) {
		return
	}
	nodes := v.scratch.nodes[:0]
	seen := v.scratch.mark(v.Snapshot.IndexEnd())
	for _, index := range indexes {
		if index < 0 || seen[index] {
			continue
		}
		seen[index] = true
		if v.entry != nil && v.entry.first[index] != unjudged {
			continue
		}
		if node := v.Node(index); node != nil {
			nodes = append(nodes, node)
		}
	}
	v.scratch.nodes = nodes
	if v.entry != nil {
		v.entry.judgeAll(nodes, v.store.helpers)
	} else {
		v.verdicts = v.judgement.firsts(nodes, v.Snapshot.IndexEnd(), v.store.helpers)
	}
	clear(v.scratch.nodes) // nobody must keep them
}

// lacks reports whether verdicts on [leastTogether] of the indexes are missing. It looks at all of them only for a class
// that lacks some of the first ones: most calls are about a class that lacks none.
func (v *View) lacks(indexes []int32) bool {
	if v.entry == nil {
		return len(indexes) >= leastTogether
	}
	missing := 0
	for i, index := range indexes {
		if index >= 0 && v.entry.first[index] == unjudged {
			missing++
		}
		if missing == leastTogether {
			return true
		}
		if missing == 0 && i == leastTogether {
			return false
		}
	}
	return false
}

// mark is memory for a mark for each node, without any.
func (s *scratch) mark(end int) []bool {
	s.marks = atLeast(s.marks, end)
	clear(s.marks)
	return s.marks
}
