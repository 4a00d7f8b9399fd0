package trial

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"muster.dev/muster/inspect"
	"muster.dev/muster/server/backfill"
)

// Outcome sums up what would become of pods.
type Outcome string

// Outcomes, the best first.
const (
	// Now says that they have room.
	Now Outcome = "Now"
	// AfterEvictions says that they have room once pods of lower priority have been evicted, as kube-scheduler and muster do.
	AfterEvictions Outcome = "AfterEvictions"
	// AfterMoves says that they have room once the rescheduler has moved other pods.
	AfterMoves Outcome = "AfterMoves"
	// Later says that they have room once pods have ended that are expected to.
	Later Outcome = "Later"
	// MoreNodes says that more nodes would help, and that no time is known at which they have room without.
	MoreNodes Outcome = "MoreNodes"
	// Never says that no node of the cluster takes some of them even if nothing else is there, or that they cannot start as they are.
	Never Outcome = "Never"
)

func (o Outcome) rank() int {
	return slices.Index([]Outcome{Now, AfterEvictions, AfterMoves, Later, MoreNodes, Never}, o)
}

// Answer tells what would become of the pods of a manifest.
type Answer struct {
	// Outcome is the worst one of the parts.
	Outcome Outcome `json:"outcome"`
	Parts   []Part  `json:"parts"`
}

// Part tells what would become of pods that are asked about together.
type Part struct {
	// Name is of the gang, as in gang lab/train, or of the object that makes the pods, as in Deployment lab/web.
	Name    string  `json:"name"`
	Outcome Outcome `json:"outcome"`
	// Gang says that the pods start together. Of others all are to have room.
	Gang bool `json:"gang,omitempty"`
	Pods int  `json:"pods"`
	// Wanted is how many have to have a place, of this gang and of gangs that start with it, and Found how many do now.
	Wanted int `json:"wanted"`
	Found  int `json:"found"`
	// Places are the places of the pods. With AfterEvictions, AfterMoves and Later they are there then, and with others pods that do not
	// wait have them.
	Places []Place `json:"places,omitempty"`
	// Evicted is how many pods of lower priority are evicted at most.
	Evicted int `json:"evicted,omitempty"`
	// Moves are the pods to be moved, in their order.
	Moves []Move `json:"moves,omitempty"`
	// At is when they have room, as likely earlier as later, InSeconds how long that is from now, and By when they do in nine of ten cases.
	// Before that, Ends pods have to end on the nodes, the last one Last.
	At        time.Time `json:"at,omitzero"`
	InSeconds float64   `json:"inSeconds,omitempty"`
	By        time.Time `json:"by,omitzero"`
	Ends      int       `json:"ends,omitempty"`
	Last      string    `json:"last,omitempty"`
	// More are the nodes that would help. Doubtful says that they were tried and do not: it takes more, or others. Unknown says that
	// there is room, too, once pods have ended whose ends are not known.
	More     []More `json:"more,omitempty"`
	Doubtful bool   `json:"doubtful,omitempty"`
	Unknown  bool   `json:"unknown,omitempty"`
	// Why says in words what they lack.
	Why string `json:"why,omitempty"`
}

// Place is the node of a pod.
type Place struct {
	Pod  string `json:"pod"` // namespace/name
	Node string `json:"node"`
}

// Move is a pod that leaves a node for another one.
type Move struct {
	Pod  string `json:"pod"` // namespace/name
	From string `json:"from"`
	To   string `json:"to"`
}

// More is a number of nodes like one, with nothing on them but what comes with a node.
type More struct {
	Nodes int    `json:"nodes"`
	Like  string `json:"like"`
}

// Text implements [inspect.Answer].
func (a *Answer) Text(t *inspect.Table) {
	for i := range a.Parts {
		p := &a.Parts[i]
		if i > 0 {
			t.Gap()
		}
		switch text := p.String(); p.Outcome {
		case Now:
			t.Row(inspect.Good(text))
		case AfterEvictions, AfterMoves, Later:
			t.Row(inspect.Doubtful(text))
		case MoreNodes, Never:
			t.Row(inspect.Bad(text))
		}
		for _, move := range p.Moves {
			t.Row("  " + move.Pod + " moves from " + move.From + " to " + move.To)
		}
		if on := p.spread(); on != "" {
			t.Row("  on " + on)
		}
	}
}

// Wide implements [inspect.WideAnswer]: with the place of each pod.
func (a *Answer) Wide(t *inspect.Table) {
	a.Text(t)
	t.Gap()
	t.Row("POD", "NODE")
	for i := range a.Parts {
		for _, place := range a.Parts[i].Places {
			t.Row(place.Pod, place.Node)
		}
	}
}

// String says the outcome in words.
func (p *Part) String() string {
	text := p.Name + ", " + p.many()
	switch p.Outcome {
	case Now:
		text += ": room now"
	case AfterEvictions:
		text += fmt.Sprintf(": room once %s of lower priority been evicted", have(p.Evicted))
	case AfterMoves:
		text += fmt.Sprintf(": room once %s moved", have(len(p.Moves)))
		if !p.At.IsZero() {
			text += "; without moves " + p.time()
		}
	case Later:
		text += ": room " + p.time()
	case MoreNodes:
		text += ": " + p.more()
	case Never:
		text += ": never, as the cluster is: " + p.Why
	}
	return text
}

// have is as in "3 pods have".
func have(pods int) string {
	if pods == 1 {
		return "1 pod has"
	}
	return numbered(pods, "pod") + " have"
}

func (p *Part) many() string {
	if p.Gang && p.Wanted > 0 {
		return fmt.Sprintf("%s, %d of them together", numbered(p.Pods, "pod"), p.Wanted)
	}
	return numbered(p.Pods, "pod")
}

func (p *Part) time() string {
	f := backfill.Forecast{At: p.At, InSeconds: p.InSeconds, By: p.By, Ends: p.Ends, Last: p.Last}
	return f.Time()
}

func (p *Part) more() string {
	text := "only more nodes help: " + p.Why
	if p.Unknown {
		text = "no time is known, as nothing says when other pods end: " + p.Why
	}
	var nodes []string
	for _, more := range p.More {
		nodes = append(nodes, numbered(more.Nodes, "more node")+" like "+more.Like)
	}
	switch list := strings.Join(nodes, " and "); {
	case list == "":
		return text
	case p.Doubtful:
		return text + "; " + list + " would not do"
	default:
		return text + "; " + list + " would do"
	}
}

// numbered is as in "1 node", or "2 nodes".
func numbered(count int, what string) string {
	if count == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", count, what)
}

// spread says how many pods go to each node, at most ten.
func (p *Part) spread() string {
	on := map[string]int{}
	for _, place := range p.Places {
		on[place.Node]++
	}
	var told []string
	for _, node := range slices.Sorted(maps.Keys(on)) {
		if len(told) == 10 {
			told = append(told, fmt.Sprintf("and %d more nodes", len(on)-10))
			break
		}
		told = append(told, fmt.Sprintf("%s: %d", node, on[node]))
	}
	return strings.Join(told, ", ")
}
