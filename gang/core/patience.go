package core

import (
	"fmt"
	"slices"
	"time"
)

// patience is how long a group waits for one domain of the level that it prefers, see [v1alpha1.Topology]. Its time begins when
// places are first looked for, which is once its members are there, and again when it has had none. Nothing is kept meanwhile. A
// process that takes over has the group wait from the beginning.
type patience struct {
	until time.Time // zero before it begins
	tried bool      // the last plan looked for one domain alone
}

// begin has the time begin, unless it has before.
func (p *patience) begin(now time.Time, length time.Duration) {
	if p.until.IsZero() {
		p.until = now.Add(length)
	}
}

// isOver reports whether the time has passed since the last plan, which looked for one domain alone.
func (p *patience) isOver(now time.Time) bool { return p.tried && !now.Before(p.until) }

// isPatient reports whether a group may still wait for what it prefers. A group with a member that has a place, or had one in a
// former process, does not.
func (g *group) isPatient(now time.Time) bool {
	topology := &g.spec.Policy.Topology
	return topology.Preferred > topology.Required && now.Before(g.patience.until) && g.counts[pending] == len(g.members) &&
		!slices.ContainsFunc(g.those(func(*member) bool { return true }), func(p *member) bool { return p.pod.Status.NominatedNodeName != "" })
}

// waitsFor says what a group waits for, and how long, if it is for a domain that it prefers.
func (p part) waitsFor() string {
	topology := &p.spec.Policy.Topology
	level := "node"
	if topology.Preferred <= len(topology.Levels) {
		level = "domain by " + topology.Levels[topology.Preferred-1]
	}
	return fmt.Sprintf("until %s it waits for one %s (muster.dev/topology-wait-for): ", p.patience.until.UTC().Format(time.RFC3339), level)
}
