package scenario

import (
	"iter"

	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// Scenario is a cluster in which pods come and go for trial. It belongs to one goroutine.
type Scenario struct {
	snap  *cluster.Snapshot
	nodes []*cluster.Node // by index, none before the first move; nil for nodes that are as in the snapshot
	log   []Move
}

// Move is a pod that came to a node or went from it.
type Move struct {
	Node int32 // its index
	Pod  *cluster.Pod

	before *cluster.Node
	undoes int  // 1 more than the place of the move that it takes back, 0 for none
	undone bool // it has been taken back
}

// New returns the cluster as a snapshot shows it.
func New(snap *cluster.Snapshot) *Scenario { return &Scenario{snap: snap} }

// Snapshot returns the snapshot that the scenario began with.
func (s *Scenario) Snapshot() *cluster.Snapshot { return s.snap }

// Node returns a node as it is now, nil when there is none of that index.
func (s *Scenario) Node(index int32) *cluster.Node {
	if index >= 0 && int(index) < len(s.nodes) && s.nodes[index] != nil {
		return s.nodes[index]
	}
	return s.snap.Node(index)
}

// NodeByName returns a node as it is now, nil when there is none of that name.
func (s *Scenario) NodeByName(name string) *cluster.Node {
	if node := s.snap.NodeByName(name); node != nil {
		return s.Node(node.Index)
	}
	return nil
}

// Changed returns the nodes to which pods came or from which they went, as they are now, by index.
func (s *Scenario) Changed() iter.Seq[*cluster.Node] {
	return func(yield func(*cluster.Node) bool) {
		for _, node := range s.nodes {
			if node != nil && !yield(node) {
				return
			}
		}
	}
}

// Put has a pod count on a node.
func (s *Scenario) Put(pod *cluster.Pod, index int32) { s.move(pod, s.Node(index).WithPod(pod)) }

// Take has a pod count no more on the node that it is on.
func (s *Scenario) Take(pod *cluster.Pod, index int32) {
	s.move(pod, s.Node(index).WithoutPod(pod.UID))
}

func (s *Scenario) move(pod *cluster.Pod, node *cluster.Node) {
	if s.nodes == nil {
		s.nodes = make([]*cluster.Node, s.snap.IndexEnd())
	}
	s.log = append(s.log, Move{Node: node.Index, Pod: pod, before: s.Node(node.Index)})
	s.nodes[node.Index] = node
}

// Moves returns how many moves there were. It never falls: undoing a move is a move as well, which followers of
// the scenario have to see.
func (s *Scenario) Moves() int { return len(s.log) }

// Since returns the moves made since [Scenario.Moves] returned that number.
func (s *Scenario) Since(moves int) []Move { return s.log[moves:] }

// Undo takes back the moves made since [Scenario.Moves] returned that number. Moves that were taken back since then are left alone: a
// search that goes back step by step takes each move back once.
func (s *Scenario) Undo(moves int) {
	for at := len(s.log) - 1; at >= moves; at-- {
		m := s.log[at]
		if m.undone || m.undoes > moves {
			continue
		}
		s.move(m.Pod, m.before)
		s.log[len(s.log)-1].undoes, s.log[at].undone = at+1, true
		for undone, at := false, m.undoes; at > 0; at = s.log[at-1].undoes { // what it took back is as it was, and so on
			s.log[at-1].undone = undone
			undone = !undone
		}
	}
}

// Judge says what predicates say of pods of one kind in a scenario.
type Judge struct {
	scenario  *Scenario
	judgement *predicates.Judgement
	told      int // how many moves the judgement knows
}

// Judge has a judgement that was prepared on the scenario's snapshot follow it from now on.
func (s *Scenario) Judge(judgement *predicates.Judgement) *Judge {
	for node := range s.Changed() {
		judgement.Suppose(node)
	}
	return &Judge{scenario: s, judgement: judgement, told: s.Moves()}
}

// Tell has a trial that was begun on the scenario's snapshot take in the moves since [Scenario.Moves] returned a number, and
// returns the number now. Of the class of a pod that moved, and of each node that is another one to the trial, it hears by
// the functions: see [predicates.Trial.Suppose].
func (s *Scenario) Tell(
	trial *predicates.Trial, moves int, class func(*cluster.Pod) predicates.Class, changed func(index int32, group bool),
) int {
	for _, m := range s.log[moves:] {
		trial.Suppose(s.Node(m.Node), m.Pod, class(m.Pod), changed)
	}
	return len(s.log)
}

// Judgement returns the judgement that the judge was made of, told of all moves.
func (j *Judge) Judgement() *predicates.Judgement {
	for _, m := range j.scenario.log[j.told:] {
		j.judgement.Suppose(j.scenario.Node(m.Node))
	}
	j.told = len(j.scenario.log)
	return j.judgement
}

// Verdict returns the predicates' verdict on one more pod on a node.
func (j *Judge) Verdict(index int32) predicates.Verdict {
	return j.Judgement().Verdict(j.scenario.Node(index))
}

// Fits reports whether one more pod fits on a node.
func (j *Judge) Fits(index int32) bool { return j.Verdict(index) == predicates.Fits }

// FitsIn reports whether one more pod fits on a node if it were in another state, with other pods on it. All
// else is as in the scenario.
func (j *Judge) FitsIn(state *cluster.Node) bool {
	judgement := j.Judgement()
	judgement.Suppose(state)
	defer judgement.Suppose(j.scenario.Node(state.Index))
	return judgement.Verdict(state) == predicates.Fits
}

// Objection returns the reason why one more pod would not fit on a node in the given state, "" if it would fit. It is the
// first reason found, except that a lack of room is returned only if there is no other reason.
func (j *Judge) Objection(state *cluster.Node) string {
	judgement := j.Judgement()
	judgement.Suppose(state)
	defer judgement.Suppose(j.scenario.Node(state.Index))
	reason, room := "", false
	judgement.Verdicts(state, func(v predicates.Verdict) {
		if reason == "" || room && !v.OfRoom() {
			reason, room = judgement.Reason(v), v.OfRoom()
		}
	})
	return reason
}

// Against returns the predicates' objections to a pod on a node where it is, as if it came there now.
func (j *Judge) Against(pod *cluster.Pod, index int32) []predicates.Objection {
	judgement, without := j.Judgement(), j.scenario.Node(index).WithoutPod(pod.UID)
	judgement.Suppose(without)
	defer judgement.Suppose(j.scenario.Node(index))
	return judgement.Against(without)
}
