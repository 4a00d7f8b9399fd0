package remote

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"muster.dev/muster/gang/record"
	"muster.dev/muster/inspect"
	"muster.dev/muster/placement/nomination"
	"muster.dev/muster/predicates"
)

// Explanation is where a pod is, or why it waits, and what its profile says of every node.
type Explanation struct {
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
	Fitting int    `json:"fitting"`
	Nodes   []Node `json:"nodes"` // the best first
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
}

// Node tells of a pod on a node.
type Node struct {
	Node    string                 `json:"node"`
	Fits    bool                   `json:"fits"`
	Total   int64                  `json:"total"`
	Scores  []predicates.ScorePart `json:"scores,omitempty"`
	Against []predicates.Objection `json:"against,omitempty"`
}

// Explain asks about a pod.
func (c *Client) Explain(ctx context.Context, namespace, name string) (*Explanation, error) {
	e := &Explanation{}
	return e, c.get(ctx, "/debug/explain?"+url.Values{"pod": {namespace + "/" + name}}.Encode(), e)
}

// ExplainManifest asks about a pod that need not exist, in YAML or JSON.
func (c *Client) ExplainManifest(ctx context.Context, manifest []byte) (*Explanation, error) {
	e := &Explanation{}
	return e, c.post(ctx, "/debug/explain", manifest, e)
}

// Waiting are the pods that wait, namespace/name.
func (c *Client) Waiting(ctx context.Context) ([]string, error) {
	var pending Pending
	if err := c.get(ctx, "/debug/pending", &pending); err != nil {
		return nil, err
	}
	var names []string
	for _, pod := range pending.Pods {
		names = append(names, pod.Pod)
	}
	return names, nil
}

// Pending is the pods that have no node.
type Pending struct {
	Pods []PendingPod `json:"pods"` // by name
}

// PendingPod is a pod that has no node.
type PendingPod struct {
	Pod       string    `json:"pod"` // namespace/name
	Scheduler string    `json:"scheduler"`
	Created   time.Time `json:"created,omitzero"`
	Nominated string    `json:"nominated,omitempty"` // status.nominatedNodeName
	// Owners are its controller, the controller of that, and so on, as far as they are known.
	Owners []Owner  `json:"owners,omitempty"`
	Gates  []string `json:"gates,omitempty"`
	// Why it waits, in words that pods that wait for the same have in common.
	Why string `json:"why"`
}

// Placed says that the pod has a node, or that there is one that it fits on.
func (e *Explanation) Placed() bool { return e.Bound != "" || e.Fitting > 0 }

// State is where the pod is, or why it waits, in words.
func (e *Explanation) State() string {
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
			seconds(e.Nomination.AgeSeconds),
			e.Nomination.Attempt,
		)
	case e.Nomination != nil:
		return fmt.Sprintf("waits to be placed: %s for %v", e.Nomination.Stage, seconds(e.Nomination.AgeSeconds))
	case e.Fitting == 0:
		return "waits: it fits on no node"
	default:
		return "waits for kube-scheduler to try it"
	}
}

// heldBack says of a gated pod what muster waits for, and where it is to go; "" if muster knows nothing of it.
func (e *Explanation) heldBack() string {
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

func seconds(s float64) time.Duration {
	return time.Duration(s * float64(time.Second)).Round(time.Second)
}

// shownBest is how many of the nodes that fit are shown in the summary.
const shownBest = 5

// Text implements [inspect.Answer]: what matters most to people, and not every node.
func (e *Explanation) Text(t *inspect.Table) {
	e.head(t)
	if refusals := e.refusals(); len(refusals) > 0 {
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
func (e *Explanation) Wide(t *inspect.Table) {
	e.head(t)
	if refusals := e.refusals(); len(refusals) > 0 {
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
func (e *Explanation) refusing(o predicates.Objection) (nodes []string) {
	for i := range e.Nodes {
		if len(nodes) < shownNodes && slices.Contains(e.Nodes[i].Against, o) {
			nodes = append(nodes, e.Nodes[i].Node)
		}
	}
	return nodes
}

// head is the pod in short.
func (e *Explanation) head(t *inspect.Table) {
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
		t.Row(fmt.Sprintf("profile %s%s: fits on %d of %d nodes", e.Profile, class, e.Fitting, len(e.Nodes)))
	}
}

// Everything is the same with every node.
func (e *Explanation) Everything() inspect.Answer { return everything{e} }

type everything struct{ *Explanation }

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
func (e *Explanation) Table(t *inspect.Table, nodes []Node) {
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

// refusals are the objections, those to most nodes first. A node may have several.
func (e *Explanation) refusals() []Refusal {
	counts := map[predicates.Objection]int{}
	for i := range e.Nodes {
		for _, objection := range e.Nodes[i].Against {
			counts[objection]++
		}
	}
	var all []Refusal
	for objection, nodes := range counts {
		all = append(all, Refusal{objection, nodes})
	}
	slices.SortFunc(all, func(a, b Refusal) int {
		return cmp.Or(cmp.Compare(b.Nodes, a.Nodes), strings.Compare(a.Predicate, b.Predicate), strings.Compare(a.Reason, b.Reason))
	})
	return all
}
