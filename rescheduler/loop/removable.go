package loop

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/inspect"
)

// maxAnnotated bounds the nodes that are annotated in one go, which plans have to wait for.
const maxAnnotated = 50

// removals tell of nodes whether the cluster could do without them, as far as that was found out.
type removals struct {
	mu     sync.Mutex // also for the search
	looked time.Time
	round  time.Time // when it began
	ended  bool      // all nodes have been looked at in it
	nodes  map[string]removal
}

// removal says of a node whether the cluster could do without it.
type removal struct {
	Node  string    `json:"node"`
	At    time.Time `json:"at"`
	Steps []move    `json:"steps"`
	// Why is why the cluster could not, "" when it could.
	Why string `json:"why,omitempty"`
}

// move is a pod that would move.
type move struct {
	Pod string `json:"pod"`
	To  string `json:"to"`
}

// removable says of all nodes that were looked at whether the cluster could do without them, by
// name. A new look is taken once in an interval, for as long as one may search for a plan. It is
// safe for concurrent use.
func (l *Loop) removable() []removal {
	r := &l.removals
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := l.clock.Now(); r.nodes == nil || now.Sub(r.looked) >= l.config.Interval.Duration {
		r.look(l, now)
		r.looked = now
	}
	return slices.SortedFunc(maps.Values(r.nodes), func(a, b removal) int { return cmp.Compare(a.Node, b.Node) })
}

// look looks at the nodes that have not been looked at in this round. The next one begins when it
// comes to an end.
func (r *removals) look(l *Loop, now time.Time) {
	problem := l.situation(v1alpha1.Coalesce).Problem
	lasting(problem)
	known := r.nodes
	if r.ended {
		r.round = now
	}
	among := func(node *cluster.Node) bool {
		before, was := known[node.Name]
		return !was || before.At.Before(r.round)
	}
	r.nodes = map[string]removal{}
	for _, found := range problem.Removable(among) {
		judged := removal{Node: found.Node.Name, At: now, Steps: []move{}}
		if found.Refusal.Reason != "" {
			judged.Why = found.Refusal.String()
		}
		for _, step := range found.Steps {
			judged.Steps = append(judged.Steps, move{step.Pod.FullName(), step.To.Name})
		}
		r.nodes[judged.Node] = judged
	}
	r.ended = true
	for node := range problem.Snapshot.Nodes() {
		if _, judged := r.nodes[node.Name]; judged {
			continue
		}
		if before, was := known[node.Name]; was {
			r.nodes[node.Name] = before
		}
		r.ended = r.ended && !among(node)
	}
}

// annotate has nodes say that the cluster could do without them, if that is asked for, and no
// others. A dry run writes nothing on nodes.
func (l *Loop) annotate(ctx context.Context) {
	if l.config.Mode == v1alpha1.DryRun {
		return
	}
	removable := map[string]int{}
	if l.config.ScaleDown.Annotate {
		for _, node := range l.removable() {
			if node.Why == "" {
				removable[node.Node] = len(node.Steps)
			}
		}
	}
	writes := 0
	for node := range l.cluster.Snapshot().Nodes() {
		want, steps := "", ""
		if count, can := removable[node.Name]; can {
			want, steps = "true", strconv.Itoa(count)
		}
		if node.Annotations[v1alpha1.AnnotationRemovable] == want && node.Annotations[v1alpha1.AnnotationRemovableSteps] == steps {
			continue
		}
		if writes++; writes > maxAnnotated {
			return
		}
		annotations := map[string]string{v1alpha1.AnnotationRemovable: want, v1alpha1.AnnotationRemovableSteps: steps}
		if err := l.writer.AnnotateNode(ctx, node.Node, annotations); err != nil {
			l.log.Warn("cannot annotate a node", "node", node.Name, "err", err)
			return
		}
	}
}

// removablePage is the nodes that the cluster could do without, and why it could not do without
// the others.
type removablePage struct {
	Nodes []removal `json:"nodes"`
	// Unknown is how many nodes nothing has been found out about yet.
	Unknown int `json:"unknown"`
}

func (l *Loop) removablePage(*http.Request) (inspect.Answer, error) {
	p := removablePage{Nodes: l.removable()}
	p.Unknown = max(0, l.cluster.Snapshot().NodeCount()-len(p.Nodes))
	return p, nil
}

// Text implements [inspect.Answer].
func (p removablePage) Text(t *inspect.Table) {
	can := 0
	for _, node := range p.Nodes {
		if node.Why == "" {
			can++
		}
	}
	t.Title(
		"the cluster could do without each of %d of %d nodes, if it kept all others; nothing is known yet of %d", can, len(p.Nodes)+p.Unknown,
		p.Unknown,
	)
	t.Row("NODE", "REMOVABLE", "STEPS", "LOOKED", "WHY NOT")
	for _, node := range p.Nodes {
		t.Row(node.Node, node.Why == "", len(node.Steps), inspect.Time(node.At), cmp.Or(node.Why, "-"))
	}
}
