package core

import "k8s.io/apimachinery/pkg/types"

// A gang that runs with too few members, of a profile whose gangs start without calls, may have lost one with a
// node that is drained. When the node is opened again, the scheduler alone decides which pod takes it up first.
// So the member that came in the place of the lost one claims the room before: it is nominated to the cordoned
// node, gated as it is, and the scheduler keeps the room there from pods of the same and of lower priority.
// While the node is cordoned that costs nobody anything; once it is opened, the member has its place there, or
// the claim is taken back.
type claiming struct{ *turn }

// renew has pending members claim these places, and no others.
func (t claiming) renew(parts []part, claims []Planned) {
	on := map[types.UID]string{}
	for _, claim := range claims {
		on[claim.UID] = claim.Node
	}
	for _, p := range parts {
		for _, member := range p.in(pending) {
			if before := member.claim; before != on[member.pod.UID] {
				member.claim, member.toldAt = on[member.pod.UID], t.now
				t.has(Nominate{member.pod.UID})
			}
		}
	}
}

// wanted returns the node that a member is to be nominated to, "" for none.
func (p *member) wanted() string {
	if p.stage == pending {
		return p.claim
	}
	if p.waitsForCall() {
		return p.place
	}
	return ""
}
