package racks

import (
	"cmp"
	"math"
	"slices"

	"muster.dev/muster/placement/topology"
)

// peer is the rule of another project, re-implemented: gang chooses nodes for pods that are in one domain of a level, alone for a
// pod alone. Neither returns any if there are none.
type peer struct {
	name, figure string
	gang         func(t *tree, pods, within int) []topology.Share
	alone        func(t *tree) []topology.Share
}

// peers are all rules that muster is held against.
func peers() []*peer {
	return []*peer{
		{"Kueue BestFit, a rack for each pod", "kueue_bestfit", bestFit, func(t *tree) []topology.Share { return bestFit(t, 1, levelRack) }},
		{"Kueue LeastFreeCapacity", "kueue_leastfree", bestFit, func(t *tree) []topology.Share { return leastFreeCapacity(t, 1) }},
		{"KAI tightest, then fullest", "kai", tightestThenFullest, fullestNode},
		{"Volcano HyperNode binpack", "volcano", fullestDomain, hyperNodes},
		{"native, each domain simulated", "native", fullestDomain, fullestNode},
	}
}

func (p *peer) place(w *world, j *job, within int) ([]topology.Share, error) {
	t := newTree(w, j, 1)
	if j.gang() {
		return p.gang(t, j.pods, within), nil
	}
	return p.alone(t), nil
}

func (p *peer) ended(*job) error { return nil }

// bestFit is Kueue's BestFit (pkg/cache/scheduler, TAS): of the domains of the required level with room for all, the one with the
// least; and below it, the most free first, and for the rest the one with the least room that is enough.
func bestFit(t *tree, pods, within int) []topology.Share {
	need := pods / t.step
	d := least(t.root.at(within), need, room)
	if d == nil {
		return nil
	}
	return t.fill([]*domain{d}, need, mostFirst, true)
}

// leastFreeCapacity is Kueue's rule for pods that ask for no level: nodes in the order of their room, the least first.
func leastFreeCapacity(t *tree, pods int) []topology.Share {
	return t.fill(t.root.at(levelNode), pods/t.step, func(a, b *domain) int {
		return cmp.Or(cmp.Compare(a.slots, b.slots), cmp.Compare(a.pods, b.pods))
	}, false)
}

// tightestThenFullest is KAI's: of the domains with room for all the one with the least, and in it the most room first.
func tightestThenFullest(t *tree, pods, within int) []topology.Share {
	d := least(t.root.at(within), pods, room)
	if d == nil {
		return nil
	}
	return t.fill([]*domain{d}, pods, mostFirst, false)
}

// fullestDomain tries the gang in each domain, and takes the one that is used most then, of equal ones the first that places most
// pods, which is all of them here. So do the native TopologyPlacement plugins of kube-scheduler, and Volcano for a hard tier. In
// the domain the fullest nodes come first.
func fullestDomain(t *tree, pods, within int) []topology.Share {
	d := least(t.root.at(within), pods, func(d *domain) float64 { return -d.use(int64(pods) * t.job.gpu) })
	if d == nil {
		return nil
	}
	return t.fill(d.at(levelNode), pods, func(a, b *domain) int { return cmp.Compare(b.use(0), a.use(0)) }, false)
}

// fullestNode is the rule of a kube-scheduler with MostAllocated, and of KAI by default.
func fullestNode(t *tree) []topology.Share {
	return on(least(t.root.at(levelNode), 1, func(d *domain) float64 { return -d.use(t.job.gpu) }))
}

// hyperNodes is Volcano's binpack for pods that ask for no topology: the use of the HyperNodes of each tier with the pod, times
// 0.8 to the power of the tier less one. Racks are tier 1. Of equal nodes it takes the fullest.
func hyperNodes(t *tree) []topology.Share {
	const least = 1e-6 // weight of what only breaks ties
	var best *domain
	most := math.Inf(-1)
	for _, block := range t.root.children {
		for _, rack := range block.children {
			for _, n := range rack.children {
				score := least * n.use(t.job.gpu)
				for tier, hyperNode := range []*domain{rack, block, t.root} {
					score += math.Pow(0.8, float64(tier)) * hyperNode.use(t.job.gpu)
				}
				if n.slots > 0 && score > most {
					best, most = n, score
				}
			}
		}
	}
	return on(best)
}

// on places one pod.
func on(d *domain) []topology.Share {
	if d == nil {
		return nil
	}
	return []topology.Share{{Node: d.node, Pods: 1}}
}

// least returns the first domain with the least of something, of all with room for slices; nil if there is none.
func least(domains []*domain, slices int, of func(*domain) float64) (best *domain) {
	for _, d := range domains {
		if d.slots >= slices && (best == nil || of(d) < of(best)) {
			best = d
		}
	}
	return best
}

// room is how many pods a domain takes.
func room(d *domain) float64 { return float64(d.pods) }

// mostFirst has the domain with the most slices first, of equal ones the one with less left over.
func mostFirst(a, b *domain) int {
	return cmp.Or(cmp.Compare(b.slots, a.slots), cmp.Compare(a.pods, b.pods))
}

// fill divides slices over domains in an order: all that the first one takes, then the second one, and so on. Where tight, the
// domain for the rest is the one with the least room that is enough.
func (t *tree) fill(domains []*domain, need int, order func(a, b *domain) int, tight bool) (places []topology.Share) {
	domains = slices.SortedStableFunc(slices.Values(domains), order)
	for i, d := range domains {
		if tight && d.slots >= need {
			d = least(domains[i:], need, room)
		}
		n := min(need, d.slots)
		if n == 0 {
			continue
		}
		if need -= n; d.level == levelNode {
			places = append(places, topology.Share{Node: d.node, Pods: n * t.step})
		} else {
			places = append(places, t.fill(d.children, n, order, tight)...)
		}
		if need == 0 {
			return places
		}
	}
	return nil
}
