package predicates

import (
	"slices"
	"sync"

	"muster.dev/muster/cluster"
)

// Judgement is all plugins of a profile, prepared for a pod: what it says of the nodes
// of one snapshot, worked out when it is asked. It belongs to one goroutine at a time.
type Judgement struct {
	profile *Profile
	pod     *cluster.Pod
	snap    *cluster.Snapshot // nil when it is remembered
	checks  []Check           // by predicate of the profile; nil where the pod does not concern it
	ratings []Rating          // by score of the profile

	supposed map[int32]*cluster.Node // by index; only of a judgement that is not remembered
}

// Judge prepares all plugins for a pod.
func (p *Profile) Judge(pod *cluster.Pod, snap *cluster.Snapshot) *Judgement {
	return p.judge(pod, snap, nil)
}

// judge is Judge with helpers: each plugin is prepared by one goroutine.
func (p *Profile) judge(pod *cluster.Pod, snap *cluster.Snapshot, h helpers) *Judgement {
	j := &Judgement{
		profile: p, pod: pod, snap: snap,
		checks: make([]Check, len(p.predicates)), ratings: make([]Rating, len(p.scores)),
	}
	if snap.NodeCount() < leastTogether {
		h = nil
	}
	all := indexesOf(snap)
	h.share(len(p.predicates)+len(p.scores), func(i int) {
		if i < len(p.predicates) {
			j.prepareCheck(i, snap, all)
		} else {
			j.prepareRating(i-len(p.predicates), snap, all)
		}
	})
	return j
}

// prepareCheck prepares a predicate on a snapshot; all returns the indexes of that snapshot.
func (j *Judgement) prepareCheck(i int, snap *cluster.Snapshot, all func() []int32) {
	j.checks[i] = j.profile.predicates[i].For(j.pod, snap)
	if digest, ok := j.checks[i].(Digest); ok {
		digest.Update(snap, beginning(digest, snap, all))
	}
	if spanning, ok := j.checks[i].(Spanning); ok {
		spanning.Turned(func(int32) {}) // nothing is known of any node yet
	}
}

// prepareRating prepares a score, as prepareCheck does a predicate.
func (j *Judgement) prepareRating(i int, snap *cluster.Snapshot, all func() []int32) {
	j.ratings[i] = j.profile.scores[i].For(j.pod, snap)
	if among := j.ratings[i].Among; among != nil {
		among.Update(snap, beginning(among, snap, all))
	}
}

// sparse is a Digest that may begin with few nodes.
type sparse interface {
	// begins returns the nodes that it has to be told of when it is new; ok is false when these are all.
	begins(snap *cluster.Snapshot) (few []int32, ok bool)
}

// beginning returns the nodes that a new digest has to be told of, out of all.
func beginning(d Digest, snap *cluster.Snapshot, all func() []int32) []int32 {
	if s, is := d.(sparse); is {
		if few, ok := s.begins(snap); ok {
			return few
		}
	}
	return all()
}

// indexesOf returns a function that lists the indexes once, when it is first called.
func indexesOf(snap *cluster.Snapshot) func() []int32 {
	return sync.OnceValue(func() []int32 { return indexes(snap) })
}

// indexes returns all indexes of nodes, unused ones included.
func indexes(snap *cluster.Snapshot) []int32 {
	all := make([]int32, snap.IndexEnd())
	for i := range all {
		all[i] = int32(i)
	}
	return all
}

// Verdict returns the first verdict against the node, in the order of the profile's
// plugins, or Fits.
func (j *Judgement) Verdict(node *cluster.Node) Verdict {
	for _, check := range j.checks {
		if check == nil {
			continue
		}
		if v := check.Verdict(node); v != Fits {
			return v
		}
	}
	return Fits
}

// Against returns the first verdicts of all predicates against the node, in the order of the profile's plugins.
func (j *Judgement) Against(node *cluster.Node) []Objection {
	var against []Objection
	for i, check := range j.checks {
		if check == nil {
			continue
		}
		if v := check.Verdict(node); v != Fits {
			against = append(against, Objection{Predicate: j.profile.predicates[i].Name(), Reason: j.Reason(v)})
		}
	}
	return against
}

// Reasons returns all reasons of all predicates against the node, in the order of the profile's plugins.
func (j *Judgement) Reasons(node *cluster.Node) []Objection {
	var against []Objection
	for i, check := range j.checks {
		for _, reason := range j.reasonsOf(check, node) {
			against = append(against, Objection{Predicate: j.profile.predicates[i].Name(), Reason: reason})
		}
	}
	return against
}

// reasonsOf returns all reasons of a check, which may be nil, against a node, each once.
func (j *Judgement) reasonsOf(check Check, node *cluster.Node) []string {
	if check == nil {
		return nil
	}
	first := check.Verdict(node)
	if first == Fits {
		return nil
	}
	all := []string{j.Reason(first)}
	if plural, ok := check.(Plural); ok {
		plural.Verdicts(node, func(v Verdict) {
			if reason := j.Reason(v); !slices.Contains(all, reason) {
				all = append(all, reason)
			}
		})
	}
	return all
}

// Basis returns the basis of the verdict on a node of the snapshot of a generation.
func (j *Judgement) Basis(node *cluster.Node, generation uint64) cluster.Basis {
	basis := cluster.Basis{Node: node, Generation: generation}
	for i, check := range j.checks {
		if _, spanning := check.(Spanning); spanning {
			basis.Aspects |= j.profile.predicates[i].Aspects()
		}
	}
	return basis
}

// Reason returns the text of a verdict; see [Profile.Reason].
func (j *Judgement) Reason(v Verdict) string { return j.profile.Reason(v, j.pod) }

// Suppose makes it judge as if a node were in another state, until it is told of that
// node again. Only the pods on it may differ.
func (j *Judgement) Suppose(node *cluster.Node) {
	if j.supposed == nil {
		j.supposed = map[int32]*cluster.Node{}
	}
	j.supposed[node.Index] = node
	j.suppose(j.snap, node)
}

// node returns the node at an index, with what is supposed of it.
func (j *Judgement) node(index int32) *cluster.Node {
	if node, ok := j.supposed[index]; ok {
		return node
	}
	return j.snap.Node(index)
}

func (j *Judgement) suppose(snap *cluster.Snapshot, node *cluster.Node) {
	for _, check := range j.checks {
		if digest, ok := check.(Digest); ok {
			digest.Suppose(snap, node)
		}
	}
	for _, rating := range j.ratings {
		if rating.Among != nil {
			rating.Among.Suppose(snap, node)
		}
	}
}

// Rank sets totals[i] to the weighted sum of the scores of the node nodes[i], as
// compared with each other: 0 to MaxScore times the sum of the weights. Only
// comparisons within one call mean something.
func (j *Judgement) Rank(nodes []int32, totals []int64) {
	for i, index := range nodes {
		totals[i] = int64(j.alone(j.node(index)))
	}
	j.compare(nodes, nil, totals, make([]int64, len(nodes)))
}

// alone returns the weighted sum of the scores that rate a node for itself. Weights are at
// most 100, so it fits many times over.
func (j *Judgement) alone(node *cluster.Node) int32 {
	var total int64
	for i, rating := range j.ratings {
		if rating.Alone != nil {
			total += j.profile.scores[i].weight * rating.Alone(node)
		}
	}
	return int32(total)
}

// compare adds the weighted sum of the other scores; for sizes see [Comparison]. ratings is memory for one
// number per node.
func (j *Judgement) compare(nodes, sizes []int32, totals, ratings []int64) {
	for i, rating := range j.ratings {
		if rating.Among == nil {
			continue
		}
		rating.Among.Rate(nodes, sizes, ratings)
		for n, r := range ratings {
			totals[n] += j.profile.scores[i].weight * r
		}
	}
}

// rate sets ratings to what one score says.
func (j *Judgement) rate(i int, nodes []int32, ratings []int64) {
	switch rating := j.ratings[i]; {
	case rating.Among != nil:
		rating.Among.Rate(nodes, nil, ratings)
	case rating.Alone != nil:
		for n, index := range nodes {
			ratings[n] = rating.Alone(j.node(index))
		}
	default:
		clear(ratings)
	}
}

// sized is a check or a comparison that keeps much.
type sized interface {
	// size is in bytes.
	size() int64
}

// size returns the bytes that the plugins keep.
func (j *Judgement) size() int64 {
	var size int64
	for _, check := range j.checks {
		if s, ok := check.(sized); ok {
			size += s.size()
		}
	}
	for _, rating := range j.ratings {
		if s, ok := rating.Among.(sized); ok {
			size += s.size()
		}
	}
	return size
}
