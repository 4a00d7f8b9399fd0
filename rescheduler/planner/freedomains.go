package planner

import (
	"cmp"
	"maps"
	"slices"

	"muster.dev/muster/api/quantity"
	"muster.dev/muster/api/rescheduling/v1alpha1"
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
	s := newSearch(p, nil)
	best := s.author.plan(nil, nil)
	known := surveyOf(s, p, want)
	if known.free >= want.Count {
		return best
	}
	clearing := newClearing(s)
	var kept []Refusal
	for i, d := range known.lacking {
		if d.refusal.Reason == "" {
			best = s.cheaper(best, newFreeing(s, clearing, known, d, s.watch.share(len(known.lacking)-i)))
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
func (s *search) cheaper(best *Plan, f *freeing) *Plan {
	found := len(best.Emptied) > 0
	switch {
	case found && (f.domain.least >= best.Cost || s.watch.past()):
		return best
	case s.watch.past():
		f.domain.refusal.Reason = ReasonLate
		return best
	}
	if plan := s.freeOne(f); plan != nil && (!found || plan.Cost < best.Cost) {
		return plan
	}
	return best
}

// freeOne plans to free one domain. It returns nil when that cannot be, and enters why.
func (s *search) freeOne(f *freeing) *Plan {
	defer func() {
		s.back(0)
		copy(s.closed, f.shut)
	}()
	for {
		proven := s.solve(f.empty, f.clearing.giveUp)
		if f.domain.chosen == nil {
			return nil
		}
		forsaken := f.forsake()
		if forsaken == 0 {
			plan := s.author.plan(proven, nil)
			for _, node := range f.domain.chosen {
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

// survey has what is known of domains before anything moves.
type survey struct {
	lacking []*domain       // that have too few empty nodes, the cheapest first
	free    int             // how many have enough
	shut    []bool          // by node index: empty, and in a domain that has enough empty nodes
	room    []quantity.Wide // by resource: what is free on all nodes that pods may go to
}

func surveyOf(s *search, p *Problem, want Domains) *survey {
	var lacking []*domain
	free, shut := 0, make([]bool, len(s.closed))
	for _, d := range domainsOf(s.roster, p, want) {
		if len(d.empty) >= d.nodes {
			free++
			for _, node := range d.empty {
				shut[node] = true
			}
			continue
		}
		lacking = append(lacking, d)
		if d.short() {
			continue
		}
		slices.SortFunc(d.filled, func(a, b int32) int {
			return cmp.Or(cmp.Compare(d.cost[a], d.cost[b]), cmp.Compare(p.Snapshot.Node(a).Name, p.Snapshot.Node(b).Name))
		})
		for _, node := range d.filled[:d.nodes-len(d.empty)] {
			d.least += d.cost[node]
		}
	}
	slices.SortFunc(lacking, func(a, b *domain) int {
		return cmp.Or(cmp.Compare(a.least, b.least), cmp.Compare(a.refusal.Name, b.refusal.Name))
	})
	return &survey{lacking: lacking, free: free, shut: shut, room: s.roomBesides(shut)}
}

// roomBesides returns the free amount of each resource on all nodes that pods may go to, except some.
func (s *state) roomBesides(shut []bool) []quantity.Wide {
	room := make([]quantity.Wide, s.dims)
	for _, node := range s.nodes {
		if shut[node] || s.noTarget[node] != "" {
			continue
		}
		for at, free := range s.freeAt(node) {
			room[at] = room[at].Plus(max(0, free))
		}
	}
	return room
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

// domainsOf returns the domains of a cluster, in the order of their first nodes.
func domainsOf(r *roster, p *Problem, want Domains) (all []*domain) {
	held, byName := map[int32]bool{}, map[string]*domain{}
	for _, place := range p.Reserved {
		held[place.Node] = true
	}
	for _, node := range r.nodes {
		r.load(node)
		at := p.Snapshot.Node(node)
		name, labelled := at.Labels[want.Key]
		if !labelled {
			continue
		}
		d := byName[name]
		if d == nil {
			d = &domain{
				nodes: want.Nodes, refusal: Refusal{Name: name}, cost: map[int32]int64{}, able: map[int32]bool{}, unfit: map[string]int{},
				staying: map[string]int{},
			}
			byName[name], all = d, append(all, d)
		}
		d.enter(r, at, held[node])
	}
	return all
}

// enter counts a node in its domain. Room on one that is held is kept for pods that are to come.
func (d *domain) enter(r *roster, node *cluster.Node, held bool) {
	d.total++
	staying := r.staying(node.Index)
	switch keeps := Keeps(node); {
	case NoTarget(node) != "":
		d.unfit[NoTarget(node)]++
	case node.Spec.Unschedulable && node.Annotations[v1alpha1.AnnotationCordoned] != "true":
		d.unfit[ReasonNodeCordoned]++
	case held:
		d.unfit[ReasonNodeHeld]++
	case len(staying) > 0:
		d.unfit[ReasonPodsStay]++
		for _, detail := range staying {
			d.staying[detail.Reason] += detail.Pods
		}
	case len(r.on[node.Index]) == 0:
		d.empty = append(d.empty, node.Index)
	case keeps != "":
		d.unfit[keeps]++
	default:
		d.filled = append(d.filled, node.Index)
		for _, at := range r.on[node.Index] {
			d.cost[node.Index] += r.items[at].cost
		}
	}
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
