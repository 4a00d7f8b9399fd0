package core

import (
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/cluster"
)

// steering tells the scheduler where members are to go, during the application of an event.
type steering struct{ *turn }

// steer wakes a member if the scheduler waits for an event to try it again. If need be, it tells the scheduler
// the member's place, by nomination: a scheduler that looks at few nodes comes upon the place, or another one
// that is as good, sooner than the write is done. It may be faster in any case: then there is nothing to tell.
// nodes counts the nodes that there are.
func (t steering) steer(p *member, nodes int) {
	if t.mayMiss(p, nodes) {
		t.has(Nominate{p.pod.UID})
	}
	if p.sleeps() {
		t.has(Wake{p.pod.UID})
	}
}

// mayMiss reports whether the scheduler may not come upon the place of a member by itself, among that many
// nodes.
func (t steering) mayMiss(p *member, nodes int) bool {
	few := t.limits.Few
	switch g := t.groupOf[p.pod.UID]; {
	case g.spec != nil && g.spec.BindsPlaces() && t.looksAt >= LeastSample && t.looksAt < nodes:
		return true // no other node will do, and it may ask about others
	case len(p.pod.Claims) > 0:
		few = t.limits.FewOfDevices
	}
	return p.astray || min(t.looksAt, nodes) > few
}

// LeastSample is how many feasible nodes kube-scheduler looks for before it asks an extender about them: it has looked at all nodes if it
// asks about fewer (minFeasibleNodesToFind in pkg/scheduler).
const LeastSample = 100

// tellAgain tells the scheduler of a place that it was told before: it takes its nomination back when a bind
// call fails, also of a member that is to be bound there yet.
func (t steering) tellAgain(p *member, before *cluster.Pod) {
	if (p.stage == kept || p.stage == due) && before.Status.NominatedNodeName == p.place && p.pod.Status.NominatedNodeName == "" &&
		t.mayMiss(p, t.view.NodeCount()) {
		t.has(Nominate{p.pod.UID})
	}
}

// A nomination is written when it is wrong and muster's to mend.
func (e Nominating) apply(t *turn) {
	p := t.member(e.UID)
	if p == nil {
		return
	}
	p.posted, p.toldAt = false, t.now
	unfounded := !p.inherited && steering{t}.unfounded(p)
	if !unfounded {
		p.withdrawn = ""
	}
	nominated := p.pod.Status.NominatedNodeName
	mine := p.pod.NominatedBy() == cluster.FieldManager
	switch {
	case p.wanted() != "" && nominated != p.wanted() && (nominated == "" || mine):
		t.has(Write{Pod: p.pod, Node: p.wanted()})
	case unfounded:
		t.has(Write{Pod: p.pod})
	}
}

func (e NotNominated) apply(t *turn) {
	if p := t.member(e.UID); p != nil {
		p.withdrawn = ""
	}
}

// SchedulerManager is who kube-scheduler is for the API server when it nominates a pod.
const SchedulerManager = "kube-scheduler"

// unfounded reports whether no plan stands behind the nomination of a member: one of muster's, or one
// that kube-scheduler made when pods were evicted for a gang that has not started. kube-scheduler
// has no room there then for pods of the same or a lower priority, and does not take it back when
// it is told that nobody is to be evicted (Preempt in pkg/scheduler/framework/preemption).
func (t steering) unfounded(p *member) bool {
	if nominated := p.pod.Status.NominatedNodeName; p.stage != pending || nominated == "" || nominated == p.claim {
		return false
	}
	switch p.pod.NominatedBy() {
	case cluster.FieldManager:
		return true
	case SchedulerManager:
		return !t.started(t.groupOf[p.pod.UID]) // else they preempt for themselves
	default:
		return false
	}
}

// withdraw takes back a nomination that no plan stands behind. Pods that it kept out are tried again: to the
// scheduler it is as if the pod had gone from the node.
func (t steering) withdraw(p *member) {
	if !p.inherited && t.unfounded(p) && p.withdrawn != p.pod.ResourceVersion {
		p.withdrawn = p.pod.ResourceVersion
		t.has(Nominate{p.pod.UID})
	}
}

// wakeRefused has the scheduler try those members of a group that has started which were refused
// before it had: that it has is no event to the scheduler.
func (t steering) wakeRefused(g *group) {
	for _, p := range g.those(func(p *member) bool { return p.stage == pending && p.refused && p.ready() }) {
		p.refused = false // what comes of it, and what filter says meanwhile, may change that
		t.has(Wake{p.pod.UID})
	}
}

// A member that has lost its place meanwhile sleeps on, until it has another one.
func (e Waking) apply(t *turn) {
	p := t.member(e.UID)
	if p == nil {
		if pod := t.freed[e.UID]; pod != nil {
			t.has(Write{Pod: pod})
		}
		return
	}
	if p.waitsForCall() || p.stage == pending && t.started(t.groupOf[e.UID]) {
		t.has(Write{Pod: p.pod})
		return
	}
	if p.untrue { // it is to be told of another reason
		t.has(Write{Pod: p.pod})
		return
	}
	p.refused = p.refused || p.stage == pending
}

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
