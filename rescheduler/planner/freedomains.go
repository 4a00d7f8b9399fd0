package planner

import (
	"cmp"
	"maps"
	"slices"

	"muster.dev/muster/cluster"
)

// Domains says how much room is to be kept free for large gangs: a number of domains, each with a number of
// empty nodes.
type Domains struct {
	// Key is a label of nodes. All nodes with the same value of it are a domain.
	Key string
	// Nodes is how many nodes of a domain are to be empty together, at least 1.
	Nodes int
	// Count is how many such domains there are to be, at least 1.
	Count int
}

// FreeDomains plans to empty nodes until one more domain has the wanted number of empty nodes, if there are too
// few such domains: it takes the domain where that costs least. The domain gets all of these nodes, or no pod
// moves. Pods go anywhere else, except to empty nodes of domains that have enough of them. Nodes that somebody
// else has cordoned, that are not ready or that room is kept on are neither empty nor emptied.
//
// Plan.Emptied are the nodes that are to be empty together, including nodes that are empty already.
func (p *Problem) FreeDomains(want Domains) *Plan {
	s := newSearch(p, nil, nil)
	best := s.author.plan(nil)
	domains, free := s.freeing.survey(p, want)
	if free >= want.Count {
		return best
	}
	var kept []Refusal
	for i, d := range domains {
		if d.refusal.Reason == "" {
			s.freeing.until = s.watch.share(len(domains) - i)
			best = s.cheaper(best, d)
		}
		if d.refusal.Reason != "" {
			kept = append(kept, d.refusal)
		}
	}
	slices.SortFunc(kept, func(a, b Refusal) int { return cmp.Compare(a.Name, b.Name) })
	late := slices.ContainsFunc(kept, func(r Refusal) bool { return r.Reason == ReasonLate })
	best.Kept, best.Late, best.Took = kept, late || s.watch.late, s.watch.took()
	return best
}

// cheaper returns the best plan so far, or one to free another domain that costs less.
func (s *search) cheaper(best *Plan, d *domain) *Plan {
	found := len(best.Emptied) > 0
	switch {
	case found && (d.least >= best.Cost || s.watch.past()):
		return best
	case s.watch.past():
		d.refusal.Reason = ReasonLate
		return best
	}
	if plan := s.freeOne(d); plan != nil && (!found || plan.Cost < best.Cost) {
		return plan
	}
	return best
}

// freeOne plans to free one domain. It returns nil when that cannot be, and enters why.
func (s *search) freeOne(d *domain) *Plan {
	defer func() {
		s.back(0)
		copy(s.closed, s.freeing.shut)
	}()
	for {
		proven := s.solve(func() { s.freeing.empty(d) })
		if d.chosen == nil {
			return nil
		}
		forsaken := s.freeing.forsake(d)
		if forsaken == 0 {
			plan := s.author.plan(proven)
			for _, node := range d.chosen {
				// One that is to be kept is empty already. It counts, but no plan may say that it empties it.
				if at := s.roster.snap.Node(node); Keeps(at) == "" {
					plan.Emptied = append(plan.Emptied, at)
				}
			}
			slices.SortFunc(plan.Emptied, func(a, b *cluster.Node) int { return cmp.Compare(a.Name, b.Name) })
			return plan
		}
		s.back(0)
	}
}

// domain is the nodes with one value of a label.
type domain struct {
	nodes   int     // how many there are to be empty
	empty   []int32 // the empty nodes
	filled  []int32 // nodes that may be emptied
	cost    map[int32]int64
	able    map[int32]bool // nodes of filled that could be emptied if no other one were
	unfit   map[string]int // nodes that are neither, by reason
	staying map[string]int // pods that keep nodes from being emptied, by reason
	total   int
	least   int64 // it costs no less to free it

	chosen  []int32 // the nodes that are to be empty, nil when it is not to be freed
	refusal Refusal // why not
}

// drop gives up to empty a node.
func (d *domain) drop(node int32, reason string) {
	d.filled = slices.DeleteFunc(d.filled, func(other int32) bool { return other == node })
	d.unfit[reason]++
}

// short reports that too few nodes can be empty, and enters why.
func (d *domain) short() bool {
	if len(d.empty)+len(d.filled) >= d.nodes {
		return false
	}
	d.refusal.Reason = ReasonFewNodes
	if d.total < d.nodes {
		d.refusal.Reason = ReasonSmallDomain
		return true
	}
	for _, reason := range slices.Sorted(maps.Keys(d.unfit)) {
		d.refusal.Details = append(d.refusal.Details, Detail{Reason: reason, Nodes: d.unfit[reason]})
	}
	for _, reason := range slices.Sorted(maps.Keys(d.staying)) {
		d.refusal.Details = append(d.refusal.Details, Detail{Reason: reason, Pods: d.staying[reason]})
	}
	slices.SortStableFunc(d.refusal.Details, func(a, b Detail) int { return cmp.Compare(b.Nodes+b.Pods, a.Nodes+a.Pods) })
	return true
}
