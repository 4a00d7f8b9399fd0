package placement

import (
	"cmp"
	"slices"
	"time"

	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// Outcome is the result for pods that were to be placed together.
type Outcome struct {
	// Places[i] is the place of the i-th pod.
	Places []Place
	// Placed is how many got a node, or would have when all of them were taken back.
	Placed int
	// Kept says that the plan goes on with these places: enough pods have one.
	Kept bool
	// Late says that time was up before all pods were looked at.
	Late bool
	// Lack says what a network lacks for pods without a place, nil if they ask nothing of it or all have one.
	Lack *Lack
}

// Place is the place found for one pod.
type Place struct {
	Pod *cluster.Pod
	// Node is an index, -1 when the pod has no place.
	Node int32
	// Against says why not, the reason of the most nodes first: as it was for the first of
	// the pods that are alike. It is nil for a pod with a place, and for one that time ran
	// out for.
	Against []Objection
}

// Objection is a reason against nodes.
type Objection struct {
	// Reason is the constant text of a verdict, the first one against a node.
	Reason string
	// Nodes is how many nodes it speaks against.
	Nodes int
}

// PlaceAll places pods in their order, each as if the pods before it were on their nodes. If fewer than atLeast
// get a node, the plan is as it was before. When the deadline is past by the store's clock, it ends with what
// it has; without one it takes its time.
func (p *Plan) PlaceAll(pods []*cluster.Pod, atLeast int, deadline time.Time) Outcome {
	return p.placeUpTo(len(pods), pods, atLeast, deadline)
}

// PlaceEnough is [Plan.PlaceAll] that ends as soon as enough pods have a node. It returns the places of the
// pods that it reached.
func (p *Plan) PlaceEnough(pods []*cluster.Pod, enough int, deadline time.Time) Outcome {
	return p.placeUpTo(enough, pods, enough, deadline)
}

func (p *Plan) placeUpTo(most int, pods []*cluster.Pod, atLeast int, deadline time.Time) Outcome {
	before := p.Mark()
	outcome := Outcome{Places: make([]Place, len(pods))}
	against := map[*batch][]Objection{}
	for i, pod := range pods {
		if outcome.Placed >= most {
			outcome.Places = outcome.Places[:i]
			break
		}
		place := &outcome.Places[i]
		*place = Place{Pod: pod, Node: -1}
		if outcome.Late = outcome.Late || p.past(deadline); outcome.Late {
			continue
		}
		p.keepPromises(pod)
		b := p.batch(pod)
		if place.Node = b.best(); place.Node >= 0 {
			p.Put(pod, place.Node)
			outcome.Placed++
		} else {
			if against[b] == nil {
				against[b] = objections(b.trial, p.avoided)
			}
			place.Against = against[b]
		}
		p.done(pod)
	}
	outcome.Kept = outcome.Placed >= atLeast
	if !outcome.Kept {
		p.Return(before)
	}
	return outcome
}

func (p *Plan) past(deadline time.Time) bool {
	return !deadline.IsZero() && p.store.Clock().Now().After(deadline)
}

// objections counts the nodes by the reasons against them.
func objections(trial *predicates.Trial, avoided map[int32]bool) []Objection {
	snap := trial.Snapshot()
	counts := map[predicates.Verdict]int{}
	for node := range snap.Nodes() {
		verdict := trial.Verdict(node.Index)
		if verdict == predicates.Fits && avoided[node.Index] {
			verdict = predicates.LeftNode
		}
		counts[verdict]++
	}
	delete(counts, predicates.Fits)
	byReason := map[string]int{} // a reason may be that of two verdicts
	for verdict, nodes := range counts {
		byReason[trial.Reason(verdict)] += nodes
	}
	return sorted(byReason)
}

// sorted are objections by reason and number of nodes, that of the most nodes first.
func sorted(byReason map[string]int) (all []Objection) {
	for reason, nodes := range byReason {
		all = append(all, Objection{reason, nodes})
	}
	slices.SortFunc(all, func(a, b Objection) int {
		return cmp.Or(cmp.Compare(b.Nodes, a.Nodes), cmp.Compare(a.Reason, b.Reason))
	})
	return all
}
