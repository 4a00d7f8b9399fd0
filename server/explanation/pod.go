package explanation

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/gang/record"
	"muster.dev/muster/inspect"
	"muster.dev/muster/placement/nomination"
	"muster.dev/muster/predicates"
)

// Pod is where a pod is, or why it waits, and what its profile says of every node.
type Pod struct {
	Pod string `json:"pod"` // namespace/name
	// Summary is State, for who asks in another language.
	Summary string `json:"summary"`
	Profile string `json:"profile"`
	// Class is the name of its equivalence class, as in /debug/equivalence/CLASS; "" when it is judged for itself.
	Class      string `json:"class,omitempty"`
	Generation uint64 `json:"generation"` // of the cluster
	// Bound is the node of the pod, Counts the one on which it counts while it is not bound yet.
	Bound  string `json:"bound,omitempty"`
	Counts string `json:"counts,omitempty"`
	// NoProfile says that no profile is for its spec.schedulerName. Nothing is told of nodes then.
	NoProfile string `json:"noProfile,omitempty"`
	// Gates are its scheduling gates, which make kube-scheduler leave it alone.
	Gates []string `json:"gates,omitempty"`
	// Member names its gang, and what makes it a member, or says why it is of none and what it would take.
	Member string `json:"member"`
	// Ignored are marks of muster's on it that have no effect, and why.
	Ignored []string `json:"ignored,omitempty"`
	// Gang is its gang, if it is a member.
	Gang *Membership `json:"gang,omitempty"`
	// Nomination is how far it is placed ahead of calls.
	Nomination *nomination.Pending `json:"nomination,omitempty"`
	// Standby is why the process that answers does not schedule, and therefore knows little of gangs
	// and nominations; "" when it does.
	Standby string `json:"standby,omitempty"`
	// First are gangs that run with too few members, so that the others are placed before the pod.
	First []string `json:"first,omitempty"`
	// Asks has the resources that it asks for. Room counts the nodes by what they are for it; Fitting is as Room.Fit.
	Asks    corev1.ResourceList `json:"asks,omitempty"`
	Room    Nodes               `json:"room"`
	Fitting int                 `json:"fitting"`
	Nodes   []Node              `json:"nodes"` // the best first
}

// Membership is a pod as a member of a gang.
type Membership struct {
	Gang  string `json:"gang"` // namespace/name
	Stage string `json:"stage"`
	Node  string `json:"node,omitempty"` // its place
	// Room says how that is kept where no bind call waits for it: Nominated or Uncontested.
	Room record.Room `json:"room,omitempty"`
	Why  string      `json:"why,omitempty"` // the gang waits
	Note string      `json:"note,omitempty"`

	brief string // Why, without names of others
}

// Placed says that the pod has a node, or that there is one that it fits on.
func (e *Pod) Placed() bool { return e.Bound != "" || e.Fitting+e.Room.Yield > 0 }

// State is where the pod is, or why it waits, in words.
func (e *Pod) State() string {
	switch {
	case e.Bound != "":
		return "is bound to node " + e.Bound
	case len(e.Gates) > 0:
		return "is held back by scheduling gates: " + strings.Join(e.Gates, ", ") + e.heldBack()
	case e.NoProfile != "":
		return "waits for a scheduler that is not muster's: " + e.NoProfile
	case e.Gang != nil:
		return e.Gang.state()
	case e.Counts != "":
		return "waits to be bound to node " + e.Counts + ", which keeps room for it"
	case e.Nomination != nil && e.Nomination.Node != "":
		return fmt.Sprintf(
			"waits, nominated to node %s: %s for %v, attempt %d",
			e.Nomination.Node,
			e.Nomination.Stage,
			inspect.Seconds(e.Nomination.AgeSeconds),
			e.Nomination.Attempt,
		)
	case e.Nomination != nil:
		return fmt.Sprintf("waits to be placed: %s for %v", e.Nomination.Stage, inspect.Seconds(e.Nomination.AgeSeconds))
	case e.Fitting == 0 && e.Room.Yield > 0:
		return "waits for kube-scheduler to try it: plans of lower priority give way to it"
	case e.Fitting == 0:
		return "waits: it fits on no node"
	case len(e.First) > 0:
		return "waits for kube-scheduler to try it, after what is missing of gangs that run in part: " + strings.Join(e.First, ", ")
	default:
		return "waits for kube-scheduler to try it"
	}
}

// heldBack says of a gated pod what muster waits for, and where it is to go; "" if muster knows nothing of it.
func (e *Pod) heldBack() string {
	switch {
	case e.Gang != nil:
		return "; it " + e.Gang.state()
	case e.Nomination != nil && e.Nomination.Node != "":
		return "; it is to go to node " + e.Nomination.Node + ", where it counts: " + e.Nomination.Stage
	case e.Nomination != nil:
		return "; it waits to be placed: " + e.Nomination.Stage
	default:
		return ""
	}
}

func (m *Membership) state() string {
	text := "waits as a member of gang " + m.Gang + ", " + m.Stage
	if m.Node != "" {
		text += " for node " + m.Node
	}
	switch m.Room {
	case record.RoomNominated:
		text += ", where a nomination keeps its room"
	case record.RoomUncontested:
		text += ", where nobody contests its room"
	}
	if m.Why != "" {
		text += ": " + m.Why
	}
	return text
}

// shownBest is how many of the nodes that fit are shown in the summary.
const shownBest = 5

// Text implements [inspect.Answer]: what matters most to people, and not every node.
func (e *Pod) Text(t *inspect.Table) {
	e.head(t)
	if refusals := refusals(e.Nodes); len(refusals) > 0 {
		t.Gap()
		t.Row("NODES", "REFUSED BY", "BECAUSE")
		for _, r := range refusals {
			t.Row(r.Nodes, inspect.Bad(r.Predicate), r.Reason)
		}
	}
	if e.Fitting > 0 {
		t.Gap()
		e.Table(t, e.Nodes[:min(shownBest, e.Fitting)])
	}
}

// shownNodes is how many of the nodes of a refusal are named.
const shownNodes = 3

// Wide implements [inspect.WideAnswer]: with names of nodes that refuse, and all that fit.
func (e *Pod) Wide(t *inspect.Table) {
	e.head(t)
	if refusals := refusals(e.Nodes); len(refusals) > 0 {
		t.Gap()
		t.Row("NODES", "REFUSED BY", "BECAUSE", "SUCH AS")
		for _, r := range refusals {
			t.Row(r.Nodes, inspect.Bad(r.Predicate), r.Reason, strings.Join(e.refusing(r.Objection), ", "))
		}
	}
	if e.Fitting > 0 {
		t.Gap()
		e.Table(t, e.Nodes[:e.Fitting])
	}
}

// refusing are the first of the nodes that an objection is to.
func (e *Pod) refusing(o predicates.Objection) (nodes []string) {
	for i := range e.Nodes {
		if len(nodes) < shownNodes && slices.Contains(e.Nodes[i].Against, o) {
			nodes = append(nodes, e.Nodes[i].Node)
		}
	}
	return nodes
}

// head is the pod in short.
func (e *Pod) head(t *inspect.Table) {
	switch head := "pod " + e.Pod + " " + e.State(); {
	case e.Bound != "":
		t.Row(inspect.Good(head))
	case e.Placed():
		t.Row(inspect.Doubtful(head))
	default:
		t.Row(inspect.Bad(head))
	}
	if e.Standby != "" {
		t.Row("this muster does not schedule (" + e.Standby + "): little is known here of gangs and nominations")
	}
	if e.Member != "" { // a muster of before says nothing
		t.Row(e.Member)
	}
	for _, mark := range e.Ignored {
		t.Row(inspect.Doubtful(mark))
	}
	if e.Gang != nil && e.Gang.Note != "" {
		t.Row(inspect.Doubtful("gang " + e.Gang.Gang + ": " + e.Gang.Note))
	}
	if e.NoProfile == "" {
		class := ""
		if e.Class != "" {
			class = ", class " + e.Class
		}
		t.Row(fmt.Sprintf("profile %s%s: fits on %s", e.Profile, class, &e.Room))
	}
	if e.Room.Nearest != nil {
		t.Row(fmt.Sprintf("it asks for %s; %s", amounts(e.Asks), e.Room.Nearest))
	}
}

// Everything is the same with every node.
func (e *Pod) Everything() inspect.Answer { return everything{e} }

type everything struct{ *Pod }

// Wide implements [inspect.WideAnswer].
func (e everything) Wide(t *inspect.Table) { e.Text(t) }

// Text implements [inspect.Answer].
func (e everything) Text(t *inspect.Table) {
	e.head(t)
	if e.NoProfile == "" {
		t.Gap()
		e.Table(t, e.Nodes)
	}
}

// Table has a line for each of the nodes.
func (e *Pod) Table(t *inspect.Table, nodes []Node) {
	header, unscored := []any{"NODE", "FITS", "TOTAL"}, []any{"-"}
	if len(e.Nodes) > 0 {
		for _, part := range e.Nodes[0].Scores {
			header, unscored = append(header, fmt.Sprintf("%s×%d", part.Name, part.Weight)), append(unscored, "-")
		}
	}
	t.Row(append(header, "AGAINST")...)
	for i := range nodes {
		node := &nodes[i]
		var cells []any
		if node.Fits {
			cells = []any{node.Node, inspect.Good(true), node.Total}
			for _, part := range node.Scores {
				cells = append(cells, part.Score)
			}
		} else {
			cells = append([]any{node.Node, inspect.Bad(false)}, unscored...)
		}
		var against []string
		for _, objection := range node.Against {
			against = append(against, objection.Predicate+": "+objection.Reason)
		}
		t.Row(append(cells, strings.Join(against, "; "))...)
	}
}
