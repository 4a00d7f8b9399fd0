package core

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// clone is a world of its own in the same state.
func (w *world) clone() *world {
	c := *w
	c.state, c.wrong, c.freed = w.state.clone(), nil, nil
	return &c
}

func (s *State) clone() *State {
	c := &State{
		limits: s.limits, lastHold: s.lastHold, lastCommit: s.lastCommit, renewed: s.renewed, looksAt: s.looksAt,
		stopped: s.stopped, holding: maps.Clone(s.holding), unwoken: maps.Clone(s.unwoken), freed: maps.Clone(s.freed),
		doomed:  maps.Clone(s.doomed),
		changed: maps.Clone(s.changed),
	}
	same := map[*group]*group{}
	of := func(g *group) *group {
		if same[g] == nil {
			same[g] = g.clone()
		}
		return same[g]
	}
	c.groups = make(map[keyType]*group, len(s.groups))
	c.groupOf = make(map[types.UID]*group, len(s.groupOf))
	c.strays = make(map[types.UID]*member, len(s.strays))
	c.commits = make(map[CommitID]*commit, len(s.commits))
	c.partly = make(map[*group]struct{}, len(s.partly))
	for key, g := range s.groups {
		c.groups[key] = of(g)
	}
	c.trees = make(map[keyType][]*group, len(s.trees))
	for root, below := range s.trees {
		for _, g := range below {
			c.trees[root] = append(c.trees[root], of(g))
		}
	}
	for g := range s.partly {
		c.partly[of(g)] = struct{}{}
	}
	for uid, g := range s.groupOf {
		c.groupOf[uid] = of(g)
	}
	for uid, p := range s.strays {
		stray := *p
		c.strays[uid] = &stray
	}
	for id, from := range s.commits {
		to := &commit{}
		for _, p := range from.parts {
			to.parts = append(to.parts, part{of(p.group), p.spec})
		}
		for _, r := range from.records {
			to.records = append(to.records, groupRecord{of(r.group), r.record, r.there})
		}
		c.commits[id] = to
	}
	return c
}

func (g *group) clone() *group {
	c := *g
	c.members = make(map[types.UID]*member, len(g.members))
	for uid, p := range g.members {
		member := *p
		c.members[uid] = &member
	}
	c.done.pods, c.priorities = maps.Clone(g.done.pods), maps.Clone(g.priorities)
	c.unsure, c.tries.unbound = maps.Clone(g.unsure), maps.Clone(g.tries.unbound)
	if g.clearing != nil {
		clearing := *g.clearing
		clearing.victims = map[string][]Victim{}
		for node, victims := range g.clearing.victims {
			clearing.victims[node] = slices.Clone(victims)
		}
		c.clearing = &clearing
	}
	return &c
}

func (w *world) String() string {
	text := fmt.Sprintf("at %ds, %d commits, stopped %t\n", w.now, len(w.commits), w.state.stopped)
	for i := range w.pods {
		text += fmt.Sprintf("  pod %d: %+v", i, w.pod[i])
		if m := w.state.member(w.uid(i)); m != nil {
			text += fmt.Sprintf(" core: %s on %q, hold %d", m.stage, m.place, m.hold)
		}
		text += "\n"
	}
	return text
}
