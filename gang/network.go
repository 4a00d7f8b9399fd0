package gang

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/placement"
	"muster.dev/muster/placement/topology"
)

// asksNetwork reports whether members of one of the parts ask something of the network, for themselves or with others.
func asksNetwork(s core.Search) bool {
	return len(s.Within) > 0 || slices.ContainsFunc(s.Parts, func(w core.Wanted) bool { return w.Topology.Asks() })
}

// placePatiently is placeAll for members that may wait for one domain of a level. They do not where none would have room for them if
// it were empty.
func placePatiently(plan *placement.Plan, s core.Search, deadline time.Time) ([]placement.Place, string, *shortage) {
	before := plan.Mark()
	places, without, none := placeAll(plan, s, deadline)
	if none == nil || !slices.ContainsFunc(s.Parts, func(w core.Wanted) bool { return w.Patient }) {
		return places, without, none
	}
	plan.Return(before)
	if others, vain := hurried(plan, s.Parts, deadline); vain {
		s.Parts = others
		return placePatiently(plan, s, deadline)
	}
	none.patient = true
	return nil, "", none
}

// hurried has parts not wait for one domain where none would have room for them if it were empty, and reports whether there are any.
func hurried(plan *placement.Plan, parts []core.Wanted, deadline time.Time) (others []core.Wanted, vain bool) {
	others = slices.Clone(parts)
	for i := range others {
		if u := (unsettled{Wanted: others[i]}); u.Patient && !plan.MayHold(u.Pods, u.AtLeast, u.network(plan.Snapshot()), deadline) {
			others[i].Patient, vain = false, true
		}
	}
	return others, vain
}

// farOff says in words what a network lacks.
func farOff(lack *placement.Lack) string {
	level := "nodes"
	if lack.Key != "" {
		level = "domains by " + lack.Key
	}
	switch {
	case lack.Kinds > 0:
		return fmt.Sprintf("members are of %d kinds, which are too many to be placed near each other", lack.Kinds)
	case lack.Mixed:
		return "slices and shares of members that are not alike are not placed yet"
	case lack.Share > 0 && lack.Value == "":
		return fmt.Sprintf("there are %d %s, and no other one for a share of %d", lack.Domains, level, lack.Share)
	case lack.Share > 0:
		next := fmt.Sprintf("the next of %d %s is %s", lack.Domains, level, lack.Value)
		return fmt.Sprintf("for a share of %d, %s, which has room for %d", lack.Share, next, lack.Pods)
	case lack.Domains == 0:
		return "there are no " + level + " that have all members"
	case lack.Key != "" && lack.Value == "":
		return fmt.Sprintf("none of %d %s has room for pods of each kind", lack.Domains, level)
	case lack.Key == "" && lack.Value == "":
		return fmt.Sprintf("there is room for %d in whole slices", lack.Pods)
	default:
		return fmt.Sprintf("of %d %s, %s has the most room: for %d", lack.Domains, level, lack.Value, lack.Pods)
	}
}

// unlisted says in words why a Topology that members name is of no use to them, "" where it is.
func unlisted(s core.Search, u unsettled, snap *cluster.Snapshot) string {
	why := unlistedIn(&u.Topology, snap)
	for i := range s.Within {
		if why == "" {
			why = unlistedIn(&s.Within[i].Topology, snap)
		}
	}
	return why
}

func unlistedIn(t *v1alpha1.Topology, snap *cluster.Snapshot) string {
	if t.Name == "" {
		return ""
	}
	object, is := snap.Topologies.Get(membership.TopologyName(t))
	if !is {
		return fmt.Sprintf("; there is no Topology %s of %s", t.Name, v1alpha1.GroupKAI)
	}
	if _, lists := t.Along(object.Levels); !lists {
		return fmt.Sprintf("; Topology %s does not list all of %s", t.Name, strings.Join(t.Levels, ", "))
	}
	return ""
}

// apartOf returns the members of groups that are not in one domain of the required level. Labels of nodes may have changed.
func apartOf(s core.Search, snap *cluster.Snapshot) map[*cluster.Pod]bool {
	of := map[*cluster.Pod]bool{}
	note := func(part int) {
		for _, pod := range s.Parts[part].Pods {
			of[pod] = true
		}
	}
	for i := range s.Parts {
		if apart(s.Parts[i].Topology, indexesOf(s.Parts[i].Beside, snap), snap) {
			note(i)
		}
	}
	for i := range s.Within {
		if c := &s.Within[i]; !isTorn(c, snap) && apart(c.Topology, indexesOf(c.Beside, snap), snap) {
			for _, part := range c.Parts {
				note(part)
			}
		}
	}
	return of
}

// isTorn reports whether pods that should share a domain run in several: they started before their groups asked for one, or a node has
// got another label. No domain would ever do for the others, so they go anywhere.
func isTorn(c *core.Common, snap *cluster.Snapshot) bool {
	return apart(c.Topology, indexesOf(c.Running, snap), snap)
}

// apart reports whether nodes are not in one domain of the level that is required.
func apart(t v1alpha1.Topology, nodes []int32, snap *cluster.Snapshot) bool {
	t = membership.Along(t, snap)
	if t.Required == 0 {
		return false
	}
	domains := map[string]bool{}
	for _, index := range nodes {
		domain, is := membership.DomainOf(&t, t.Required, snap.Node(index))
		if !is {
			return true
		}
		domains[domain] = true
	}
	return len(domains) > 1
}

// anyApart reports whether members that would stay, and others of their group, are [apart].
func anyApart(left []unsettled, snap *cluster.Snapshot) bool {
	return slices.ContainsFunc(left, func(u unsettled) bool { return apart(u.Topology, u.beside(snap), snap) })
}

// undivided returns what members must have of the network, nil for nothing, and the domain that they prefer.
func (u *unsettled) undivided(snap *cluster.Snapshot) (*placement.Network, placement.Preference) {
	hasty := *u
	hasty.Patient = false
	n := hasty.network(snap)
	if n == nil {
		return nil, placement.Preference{}
	}
	return n, placement.Preference{Level: membership.Along(u.Topology, snap).Preferred, Patient: u.Patient}
}

// network returns what members ask of the network, nil for nothing.
func (u *unsettled) network(snap *cluster.Snapshot) *placement.Network {
	if !u.Topology.Asks() {
		return nil
	}
	t := membership.Along(u.Topology, snap)
	n := &placement.Network{
		Levels: t.Levels, Above: t.Above, Required: t.Required, Balanced: t.Balanced, Beside: u.beside(snap),
	}
	if u.Patient && (len(t.Shares) == 0 || t.Preferred < t.SharesLevel) {
		n.Required = max(t.Required, t.Preferred)
	}
	if len(t.Shares) > 0 {
		n.Shares = &topology.Shares{Level: t.SharesLevel, Sizes: t.Shares}
	}
	for _, s := range t.Slices {
		if s.Level >= n.Required { // else all are in one domain of that level anyway
			n.Slices = append(n.Slices, topology.Slice{Size: s.Size, Level: s.Level})
		}
	}
	return n
}

// beside returns the nodes of members that have places, each as often as it has some.
func (u *unsettled) beside(snap *cluster.Snapshot) []int32 {
	return append(slices.Clone(u.nodes), indexesOf(u.Beside, snap)...)
}

// unseen says in words that members run where no node is known, "" where they do not: a node has gone, and comes back or takes its pods
// with it. Until then nothing shows which domain the others have to be in.
func unseen(s core.Search, snap *cluster.Snapshot) string {
	for i := range s.Parts {
		if t := &s.Parts[i].Topology; t.Divides() || t.Binds() {
			if why := unseenOf(s.Parts[i].Beside, t.Divides(), snap); why != "" {
				return why
			}
		}
	}
	for i := range s.Within {
		if c := &s.Within[i]; c.Topology.Binds() {
			if why := unseenOf(c.Beside, false, snap); why != "" {
				return why
			}
		}
	}
	return ""
}

// unseenOf is unseen for the nodes of some members: all have to be known, or one.
func unseenOf(nodes []string, all bool, snap *cluster.Snapshot) string {
	gone := slices.IndexFunc(nodes, func(name string) bool { return snap.NodeByName(name) == nil })
	if gone < 0 || !all && len(indexesOf(nodes, snap)) > 0 {
		return ""
	}
	return fmt.Sprintf("members run on node %s, which is not there: where the others have to be is not known", nodes[gone])
}

// besideAll is beside for all groups that share a domain.
func besideAll(c *core.Common, left []unsettled, snap *cluster.Snapshot) []int32 {
	nodes := indexesOf(c.Beside, snap)
	for _, part := range c.Parts {
		nodes = append(nodes, left[part].nodes...)
	}
	return nodes
}

// indexesOf returns the indexes of the nodes of some names that are there.
func indexesOf(names []string, snap *cluster.Snapshot) (nodes []int32) {
	for _, name := range names {
		if node := snap.NodeByName(name); node != nil {
			nodes = append(nodes, node.Index)
		}
	}
	return nodes
}
