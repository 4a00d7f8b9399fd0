package placement

import (
	"slices"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement/topology"
)

// mostArrangements bounds how often pods of several kinds are placed again to be nearer each other.
const mostArrangements = 64

// mostTogether bounds the domains of a level that are tried for all pods.
const mostTogether = 32

// closer looks for places of several kinds of pods that are nearer each other than the ones that are found kind by kind, as the first
// kind knows nothing of the others.
type closer struct {
	*nearness
	pods   []*cluster.Pod
	before *Mark
	best   []Place
	worth  topology.Worth
	within []func(int32) bool // where the best ones are
	left   int                // arrangements that may be tried
}

// closer returns places that are no worse, and has the plan go on with them.
func (s *nearness) closer(pods []*cluster.Pod, before *Mark, places []Place) []Place {
	c := &closer{nearness: s, pods: pods, before: before, best: places, worth: s.worth(places), left: mostArrangements}
	first := s.kindOf(places[0].Pod)
	others := slices.IndexFunc(places, func(place Place) bool { return s.kindOf(place.Pod) != first })
	if others < 0 || c.fewest(c.worth, s.worth(places[:others])) {
		return places // the first kind has as few as there are
	}
	c.together()
	for c.without() {
	}
	s.plan.Return(before)
	for _, place := range c.best {
		s.plan.keepPromises(place.Pod)
		s.plan.Put(place.Pod, place.Node)
	}
	return c.best
}

// worth returns what places are worth, whatever they leave over.
func (s *nearness) worth(places []Place) topology.Worth {
	shares := make([]topology.Share, len(places))
	for i, place := range places {
		shares[i] = topology.Share{Node: place.Node, Pods: 1}
	}
	return s.tree.Worth(s.ask(), shares)
}

// fewest reports whether places use as many domains of each level as others do.
func (c *closer) fewest(w, than topology.Worth) bool {
	for level := 1; level <= c.tree.Levels; level++ {
		if w.Domains(level) != than.Domains(level) {
			return false
		}
	}
	return true
}

// together tries domains that have room for all pods of each kind, first at the lowest level. The ones with the least room
// come first.
func (c *closer) together() {
	for level := c.tree.Levels; level > 0; level-- {
		if c.worth.Domains(level) < 2 {
			return
		}
		c.plan.Return(c.before)
		candidates, is := c.roomy(c.pods, level, c.tree.Roomy(nil, level, 0)), false
		for _, node := range candidates[:min(len(candidates), mostTogether)] {
			is = c.try([]func(int32) bool{c.near(node, level)}, nil) || is
		}
		if is {
			return
		}
	}
}

// near returns whether a node is in a domain, or in one of its level that has pods of the group already.
func (c *closer) near(node int32, level int) func(int32) bool {
	return func(other int32) bool {
		return c.tree.Near(node, other, level) ||
			slices.ContainsFunc(c.network.Beside, func(beside int32) bool { return c.tree.Near(beside, other, level) })
	}
}

// without places all pods without one of the domains of the lowest level that they are in, and reports whether that is better.
func (c *closer) without() bool {
	pods, of := map[int32]int{}, []int32{} // by a node of the domain
	for _, place := range c.best {
		at := slices.IndexFunc(of, func(node int32) bool { return c.tree.Near(node, place.Node, c.tree.Levels) })
		if at < 0 {
			at, of = len(of), append(of, place.Node)
		}
		pods[of[at]]++
	}
	slices.SortStableFunc(of, func(a, b int32) int { return pods[a] - pods[b] })
	for _, node := range of {
		elsewhere := func(other int32) bool { return !c.tree.Near(node, other, c.tree.Levels) }
		for _, kind := range c.kinds(c.pods) {
			if c.try(append(slices.Clip(c.within), elsewhere), kind[0]) {
				return true
			}
		}
	}
	return false
}

// try places all pods on nodes that are in all of some parts, the kind of one pod before the others, or in the usual order. It
// reports whether that is better.
func (c *closer) try(within []func(int32) bool, first *cluster.Pod) bool {
	if c.left--; c.left < 0 || c.late() {
		return false
	}
	c.plan.Return(c.before)
	except := c.except
	c.open = func(node int32) bool {
		return !slices.ContainsFunc(within, func(is func(int32) bool) bool { return !is(node) })
	}
	c.first = first
	places, _ := c.nearness.try(c.pods, false)
	c.open, c.first, c.except = nil, nil, except
	if places == nil {
		return false
	}
	worth := c.nearness.worth(places)
	if !worth.Better(c.worth) {
		return false
	}
	c.best, c.worth, c.within = places, worth, within
	return true
}
