package core

import (
	"fmt"
	"time"
)

// patience is how long a group waits for one domain of the level that it prefers, see [v1alpha1.Topology]. Its time begins when
// places are first looked for, which is once its members are there, and again when it has had none. Nothing is kept meanwhile. A
// process that takes over has the group wait from the beginning.
type patience struct {
	since time.Time // zero before it begins
	tried bool      // the last plan looked for one domain alone, and found none
}

// begin has the time begin, unless it has before.
func (p *patience) begin(now time.Time) {
	if p.since.IsZero() {
		p.since = now
	}
}

// prefers reports whether members ask for one domain of a level that they may do without.
func (p part) prefers() bool {
	topology := &p.spec.Policy.Topology
	return topology.Preferred > topology.Required
}

// patientUntil returns when a group waits no longer.
func (p part) patientUntil() time.Time { return p.patience.since.Add(p.spec.Policy.Topology.WaitFor) }

// lostPatience reports whether the time has passed since the last plan, which looked for one domain alone.
func (p part) lostPatience(now time.Time) bool {
	return p.patience.tried && !now.Before(p.patientUntil())
}

// isPatient reports whether a group may still wait for what it prefers. A group with a member that has a place, or had one in a
// former process, does not.
func (p part) isPatient(now time.Time) bool {
	return p.prefers() && now.Before(p.patientUntil()) && p.counts[pending] == len(p.members) &&
		len(p.those(func(m *member) bool { return m.pod.Status.NominatedNodeName != "" })) == 0
}

// waitsFor says what a group waits for, and how long, if it is for a domain that it prefers.
func (p part) waitsFor() string {
	topology := &p.spec.Policy.Topology
	level := "node"
	if topology.Preferred <= len(topology.Levels) {
		level = "domain by " + topology.Levels[topology.Preferred-1]
	}
	return fmt.Sprintf("until %s it waits for one %s (muster.dev/topology-wait-for): ", p.patientUntil().UTC().Format(time.RFC3339), level)
}
