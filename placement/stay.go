package placement

import (
	"slices"

	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// StillFits reports whether a pod could come to a node if it were not there. If not, it is taken from it for the rest of
// the plan.
func (p *Plan) StillFits(pod *cluster.Pod, name string) bool {
	node := p.NodeByName(name)
	if node == nil {
		return false
	}
	p.keepPromises(pod)
	p.Take(pod, node.Index)
	fits := p.batch(pod).trial.Verdict(node.Index) == predicates.Fits
	if fits {
		p.Put(pod, node.Index)
	}
	p.done(pod)
	return fits
}

// Stay puts a pod on the node of a name if it fits there, whatever better ones there are: room is kept for it there. Its
// place is none where it does not fit.
func (p *Plan) Stay(pod *cluster.Pod, name string) Place {
	place := Place{Pod: pod, Node: -1}
	node := p.NodeByName(name)
	if node == nil || p.avoided[node.Index] {
		return place
	}
	p.keepPromises(pod)
	if p.batch(pod).trial.Verdict(node.Index) == predicates.Fits {
		p.Put(pod, node.Index)
		p.done(pod)
		place.Node = node.Index
	}
	return place
}

// Stay is [Plan.Stay]. Nobody is evicted.
func (e *Evictions) Stay(pod *cluster.Pod, name string) Place {
	before := e.plan.Moves()
	place := e.plan.Stay(pod, name)
	e.follow(before)
	if place.Node >= 0 {
		e.placed = append(e.placed, place)
	}
	return place
}

// Await is Stay, also for a node that a pod fits once others have gone that are going anyway.
func (e *Evictions) Await(pod *cluster.Pod, name string) Place {
	place, node := e.Stay(pod, name), e.plan.NodeByName(name)
	if place.Node >= 0 || node == nil {
		return place
	}
	offer := e.evictor(pod).offer(e, node.Index)
	if offer.victims != nil && !slices.ContainsFunc(offer.victims, func(v *evictee) bool { return !v.Leaving }) {
		e.evict(offer.victims, pod, node.Index)
		e.plan.done(pod)
		place.Node = node.Index
		e.placed = append(e.placed, place)
	}
	return place
}
