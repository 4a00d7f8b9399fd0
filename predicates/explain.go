package predicates

import "muster.dev/muster/cluster"

// Explanation is all that a profile says of a pod on one node.
type Explanation struct {
	Node *cluster.Node
	// Against are all reasons against the node, in the order of the predicates, each with one
	// or several; none when the pod fits.
	Against []Objection
	// Scores are the results of the scores, in their order. A node that the pod does not fit has none, since
	// only nodes that it fits are rated.
	Scores []ScorePart
	// Total is the weighted sum of the scores.
	Total int64
}

// Objection is a reason of a predicate against a node.
type Objection struct {
	Predicate string `json:"predicate"`
	Reason    string `json:"reason"`
}

// ScorePart is the result of one score for a node.
type ScorePart struct {
	Name string `json:"name"`
	// Score is 0 to MaxScore.
	Score  int64 `json:"score"`
	Weight int64 `json:"weight"` // its factor in the total
}

// Explain evaluates every predicate and score for a pod on every node, remembering
// and recalling nothing. A pod that is on a node already is taken as if it were not.
func (p *Profile) Explain(pod *cluster.Pod, snap *cluster.Snapshot) []Explanation {
	pod = unplaced(pod)
	j := p.Judge(pod, snap)
	for node := range snap.Nodes() {
		if without := node.WithoutPod(pod.UID); without != node {
			j.Suppose(without)
		}
	}
	explanations := make([]Explanation, 0, snap.NodeCount())
	var fitting []*Explanation
	var nodes []int32
	for node := range snap.Nodes() {
		explanations = append(explanations, Explanation{Node: node, Against: j.Reasons(j.node(node.Index))})
		if e := &explanations[len(explanations)-1]; len(e.Against) == 0 {
			fitting, nodes = append(fitting, e), append(nodes, node.Index)
		}
	}
	ratings := make([]int64, len(nodes))
	for i, score := range p.scores {
		j.rate(i, nodes, ratings)
		for n, e := range fitting {
			e.Scores = append(e.Scores, ScorePart{Name: score.Name(), Score: ratings[n], Weight: score.weight})
			e.Total += score.weight * ratings[n]
		}
	}
	return explanations
}

// unplaced returns a pod as it was before it had a node.
func unplaced(pod *cluster.Pod) *cluster.Pod {
	if pod.Spec.NodeName == "" {
		return pod
	}
	object := *pod.Pod
	object.Spec.NodeName = ""
	before := cluster.NewPod(&object)
	before.Claims, before.ClaimProblem = pod.Claims, pod.ClaimProblem
	return before
}

// Dependency names the aspects that a plugin of a profile declares to read: a row of the invalidation matrix.
type Dependency struct {
	Plugin string
	Kind   string // "predicate" or "score"
	// Aspects are the changes of a node after which its verdicts are evaluated again. Adding or replacing a
	// node always has that effect.
	Aspects cluster.Aspect
}

// Dependencies returns the rows of the profile's invalidation matrix.
func (p *Profile) Dependencies() []Dependency {
	var rows []Dependency
	for _, predicate := range p.predicates {
		rows = append(rows, Dependency{Plugin: predicate.Name(), Kind: "predicate", Aspects: predicate.Aspects()})
	}
	for _, score := range p.scores {
		rows = append(rows, Dependency{Plugin: score.Name(), Kind: "score", Aspects: score.Aspects()})
	}
	return rows
}
