package predicates

import "muster.dev/muster/cluster"

// Explanation is all that a profile says of a pod on one node.
type Explanation struct {
	Node *cluster.Node
	// Against are the predicates that speak against the node, in their order; none
	// when the pod fits.
	Against []Objection
	// Scores are the ratings, 0 to MaxScore, by plugin in their order.
	Scores []Rating
	// Total is the weighted sum of the scores.
	Total int64
}

// Objection is what a predicate has against a node.
type Objection struct {
	Predicate string `json:"predicate"`
	Reason    string `json:"reason"`
	// Resolvable says that evicting pods from the node could help.
	Resolvable bool `json:"resolvable"`
}

// Rating is what a score says of a node.
type Rating struct {
	Name   string `json:"name"`
	Score  int64  `json:"score"`
	Weight int64  `json:"weight"`
}

// Explain evaluates every predicate and score for a pod on every node, remembering
// and recalling nothing.
func (p *Profile) Explain(pod *cluster.Pod, snap *cluster.Snapshot) []Explanation {
	checks := make([]Check, len(p.predicates))
	for i, predicate := range p.predicates {
		checks[i] = predicate.For(pod, snap)
	}
	rates := make([]Rate, len(p.scores))
	for i, score := range p.scores {
		rates[i] = score.For(pod, snap)
	}
	explanations := make([]Explanation, 0, snap.NodeCount())
	for node := range snap.Nodes() {
		e := Explanation{Node: node}
		for i, check := range checks {
			if check == nil {
				continue
			}
			if v := check(node); v != Fits {
				e.Against = append(e.Against, Objection{
					Predicate: p.predicates[i].Name(), Reason: v.Reason(snap.ResourceNames), Resolvable: v.Resolvable(),
				})
			}
		}
		for i, rate := range rates {
			r := Rating{Name: p.scores[i].Name(), Weight: p.scores[i].weight}
			if rate != nil {
				r.Score = rate(node)
			}
			e.Scores = append(e.Scores, r)
			e.Total += r.Weight * r.Score
		}
		explanations = append(explanations, e)
	}
	return explanations
}

// Dependency is what a plugin of a profile declares to read: a row of the
// invalidation matrix.
type Dependency struct {
	Plugin string
	Kind   string // "predicate" or "score"
	// Aspects are the changes that make its verdicts on a node be evaluated anew. One
	// that is added or replaced always does.
	Aspects cluster.Aspect
}

// Dependencies are the rows of the profile's invalidation matrix.
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
