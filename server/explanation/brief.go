package explanation

import (
	"fmt"
	"strings"

	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/status"
	"muster.dev/muster/inspect"
	"muster.dev/muster/placement/nomination"
)

// A brief explanation is for people who may see one namespace and no nodes. It is made of what may be told, field by field, and
// not by leaving out: what a field of an explanation may be told must be said here. Told are the names of the pod, of its gang
// and of the members of that, with their nodes; counts of nodes, and constant reasons against them; and what the objects of the
// namespace ask for. Not told are names of other nodes, of other namespaces, and of pods and gangs there.

// podBrief is a pod in brief.
type podBrief struct {
	Pod

	refused []Refusal
}

// brief returns what may be told of a pod in its namespace.
func (e *Pod) brief(namespace string) *podBrief {
	told := &podBrief{
		Pod: Pod{
			Pod: e.Pod, Profile: e.Profile, Generation: e.Generation, Bound: e.Bound, Counts: e.Counts, NoProfile: e.NoProfile, Gates: e.Gates,
			Member: e.Member, Ignored: e.Ignored, First: firstBriefly(e.First, namespace),
			Asks: e.Asks, Room: e.Room.brief(), Fitting: e.Fitting,
		},
		refused: refusals(e.Nodes),
	}
	if m := e.Gang; m != nil {
		told.Gang = &Membership{Gang: m.Gang, Stage: m.Stage, Node: m.Node, Room: m.Room, Why: m.brief, Note: m.Note}
	}
	if n := e.Nomination; n != nil {
		told.Nomination = &nomination.Pending{Pod: e.Pod, Node: n.Node, Stage: n.Stage, AgeSeconds: n.AgeSeconds, Attempt: n.Attempt}
	}
	return told
}

// firstBriefly names the gangs of a namespace, and counts others.
func firstBriefly(gangs []string, namespace string) (told []string) {
	others := 0
	for _, gang := range gangs {
		if strings.HasPrefix(gang, namespace+"/") {
			told = append(told, gang)
		} else {
			others++
		}
	}
	if others > 0 {
		told = append(told, fmt.Sprintf("%d of other namespaces", others))
	}
	return told
}

func (n Nodes) brief() Nodes {
	told := Nodes{All: n.All, Fit: n.Fit, Yield: n.Yield, Full: n.Full, Refuse: n.Refuse}
	if n.Nearest != nil {
		told.Nearest = &Gap{Lacks: n.Nearest.Lacks}
	}
	return told
}

// Text implements [inspect.Answer].
func (e *podBrief) Text(t *inspect.Table) {
	e.head(t)
	if len(e.refused) == 0 {
		return
	}
	t.Gap()
	t.Row("NODES", "REFUSED BY", "BECAUSE")
	for _, r := range e.refused {
		t.Row(r.Nodes, inspect.Bad(r.Predicate), r.Reason)
	}
}

// brief returns what may be told of gangs in their namespace.
func (r *Gangs) brief() *Gangs {
	told := &Gangs{}
	for i := range r.Gangs {
		told.Gangs = append(told.Gangs, r.Gangs[i].brief())
	}
	return told
}

func (p *Places) brief() *Places {
	if p == nil {
		return nil
	}
	return &Places{Wanted: p.Wanted, Found: p.Found, Short: p.Short, Against: p.Against, Yielding: p.Yielding, Cut: p.Cut}
}

func (r *Gang) brief() Gang {
	told := Gang{
		Details: core.Details{
			Summary: core.Summary{
				Name: r.Name, Label: r.Label, MinMember: r.MinMember, Room: r.Room, Pending: r.Pending, Placed: r.Placed, Held: r.Held,
				Binding: r.Binding, Bound: r.Bound, Succeeded: r.Succeeded, Failed: r.Failed, Account: r.Account,
				Levels: r.Levels, Why: briefly(&r.Summary), Note: r.Note, Denied: r.Denied, Deadline: r.Deadline, Again: r.Again,
				Found: r.Found, Since: r.Since,
			},
			Members: r.Members,
		},
		Generation: r.Generation, Places: r.Places.brief(), MoreSeeking: r.MoreSeeking,
	}
	if told.Why != "" && told.Places != nil {
		told.Why = told.Places.whyNow(told.Why)
	}
	for i := range r.Seeking {
		s := &r.Seeking[i]
		told.Seeking = append(told.Seeking, Seeking{
			Pods: s.Pods, Asks: s.Asks, Placed: s.Placed, Alone: s.Alone.brief(), Rooms: s.Rooms, Refused: s.Refused, NoProfile: s.NoProfile,
		})
	}
	return told
}

// briefly returns why a gang waits, by its reason and its own numbers: the words of Why may name others. It returns "" for one
// that does not wait.
func briefly(of *core.Summary) string {
	if of.Why == "" {
		return ""
	}
	switch of.Reason {
	case status.PodGroupInvalid, status.PodGroupNotFound:
		if of.Wrong != "" {
			return of.Wrong
		}
		return "a gang that is to start together with it does not say so, or asks for what makes no sense"
	case status.MembersWithheld:
		return "members that it asks for are made only once others have started"
	case status.MembersMissing:
		if short := of.Short(); short > 0 {
			return fmt.Sprintf("waiting for %d more of %d members", short, of.MinMember)
		}
		return "waiting for members of a gang that starts together with it"
	case status.MembersFailed:
		return "members have failed, and too few are left"
	case status.NamespaceLimit:
		return "its namespace has places for as many gangs as it may before they start"
	case status.Unschedulable:
		return "no places were found for enough of its members, or a gang of higher priority has needed them"
	case status.TimedOut:
		return "too few of its members came to their places in time"
	case status.Evicting:
		return "waiting for pods to be evicted for it"
	case status.Waiting:
		return "waiting for its turn, or for its members to come to their places"
	case status.None, status.Scheduled, status.Preempted, status.MembersDisagree, status.MarkIgnored,
		status.RoomBooked, status.NoRoomBooked:
	}
	return "its members are there, and places for them have not been looked for yet"
}
