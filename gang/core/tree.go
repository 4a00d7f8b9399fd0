package core

import (
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/gang/membership"
)

// A tree of groups (Kubernetes' CompositePodGroups) starts with some of its gangs, and the others come later, each for itself.
// Which ones start is chosen again with each event, as nothing but their standing tells it: the gangs that have places are in
// each choice, so that a plan keeps its gangs until it ends.

// root notes in which tree a group is.
func (s *State) root(g *group, root membership.Key) {
	if g.root == root {
		return
	}
	if left := slices.DeleteFunc(s.trees[g.root], func(other *group) bool { return other == g }); len(left) > 0 {
		s.trees[g.root] = left
	} else {
		delete(s.trees, g.root)
	}
	if g.root = root; root != (membership.Key{}) {
		s.trees[root] = append(s.trees[root], g)
	}
}

// inTree returns the gangs that start together with one that is in a tree: the best choice.
func (s *State) inTree(g *group) (parts []part, not *hindrance) {
	choices, not := s.choices(g, nil)
	if not != nil {
		return nil, not
	}
	for parts = range choices {
		break
	}
	return parts, nil
}

// choices yields the bundles with which a group in a tree may start, the best first. Groups without a place of their own are
// incomplete. There is a hindrance when it cannot start.
func (s *State) choices(g *group, unfit sets.Set[*group]) (iter.Seq[[]part], *hindrance) {
	if count := len(s.trees[g.root]); count > membership.MostLeaves {
		return nil, hindranceOf(membership.TooManyLeaves(count))
	}
	leaves := []membership.Leaf{part{g, g.frozen()}.leaf()}
	for _, other := range s.trees[g.root] {
		if other != g && other.spec != nil && len(other.spec.Above) > 0 && other.spec.Above[0].Name == g.spec.Above[0].Name {
			leaf := part{other, other.frozen()}.leaf()
			if leaf.Standing == membership.Whole && (other.schedulerName != g.schedulerName || unfit.Has(other)) {
				leaf.Standing = membership.Incomplete
			}
			leaves = append(leaves, leaf)
		}
	}
	bundles, by := membership.Choices(g.key, leaves)
	if by != nil {
		return nil, hindranceOf(by)
	}
	return func(yield func([]part) bool) {
		for keys := range bundles {
			parts := make([]part, 0, len(keys))
			for _, key := range keys {
				other := s.groups[key]
				parts = append(parts, part{other, other.frozen()})
			}
			if !yield(parts) {
				return
			}
		}
	}, nil
}

// leaf returns how far a group in a tree is.
func (p part) leaf() membership.Leaf {
	leaf := membership.Leaf{Key: p.key, Above: p.spec.Above, Standing: membership.Whole, InVain: p.tries.inVain, Priority: p.priority}
	if p.left() != nil {
		leaf.InVain++
	}
	switch {
	case p.spec.Err != nil:
		leaf.Standing = membership.Incomplete
	case p.started() || p.letGo() > 0:
		leaf.Standing = membership.Started
	case p.holds():
		leaf.Standing = membership.Holding
	case p.lacksMembers():
		leaf.Standing = membership.Incomplete
	}
	return leaf
}

// mostChoices is how many bundles of a tree are tried in one plan.
const mostChoices = 64

// unfit returns the other gangs of a tree that have no room even alone, whatever the choice, or says that the time was up before.
func (t *attempt) unfit() (unfit sets.Set[*group], late bool) {
	unfit = sets.New[*group]()
	defer func() { t.now = t.ports.Now() }()
	for _, g := range t.trees[t.first().root] {
		if g == t.first() || g.unasked() != nil {
			continue
		}
		p := part{g, g.frozen()}
		if p.leaf().Standing != membership.Whole {
			continue
		}
		alone := Search{Store: t.first().store, Parts: []Wanted{t.wantedOf(p)}}
		nodes, late := t.ports.FindWithout(alone, nil, nil)
		if late {
			return unfit, true
		}
		if len(nodes) == 0 {
			unfit.Insert(g)
		}
	}
	return unfit, false
}

// others takes one other bundle of a tree after the next in place of the attempt's, until try reports that one does, or that the
// time is up. It reports whether one does. If none does, the attempt has its own again.
func (t *attempt) others(unfit sets.Set[*group], try func() (does, late bool)) bool {
	g := t.first()
	if g.spec == nil || len(g.spec.Above) == 0 { // searches take their time, and the object may have gone meanwhile
		return false
	}
	own, waits, dirty := t.parts, g.waiting, g.dirty
	choices, not := t.choices(g, unfit)
	if not != nil {
		return false
	}
	tried := 0
	for parts := range choices {
		if tried++; tried > mostChoices {
			break
		}
		if slices.EqualFunc(parts, own, func(a, b part) bool { return a.group == b.group }) {
			continue
		}
		t.parts = parts
		for _, p := range parts {
			t.planBy(p.group)
		}
		if t.hindered() != "" {
			continue
		}
		t.fresh = unplanned(parts)
		does, late := try()
		if does {
			return true
		}
		if late {
			break
		}
	}
	t.parts, t.fresh = own, unplanned(own)
	g.waiting, g.dirty = waits, dirty
	return false
}
