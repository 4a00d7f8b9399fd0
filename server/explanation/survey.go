package explanation

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/placement/scenario"
	"muster.dev/muster/predicates"
)

// keptForNominated returns the objection of pods whose room is kept: no predicate has it. A node that lacks room has it as well when
// plans of lower priority would give way and these pods still keep the room.
func keptForNominated() predicates.Objection {
	return predicates.Objection{Predicate: "nominated pods", Reason: "the room is kept for pods that are nominated to the node"}
}

// survey looks at all nodes of a snapshot for a pod.
type survey struct {
	snap  *cluster.Snapshot
	store *predicates.VerdictStore
	pod   *cluster.Pod
	// kept are by node the pods that are nominated to it and no less important.
	kept map[int32][]*cluster.Pod
	// below are by node the pods that count there by plans of lower priority.
	below map[string][]types.UID
}

func (x *Explainer) survey(store *predicates.VerdictStore, pod *cluster.Pod, snap *cluster.Snapshot) *survey {
	s := &survey{snap: snap, store: store, pod: pod, kept: map[int32][]*cluster.Pod{}, below: map[string][]types.UID{}}
	if pod.Spec.NodeName != "" {
		return s
	}
	priority := corev1helpers.PodPriority(pod.Pod)
	for _, other := range store.Nominated() {
		node := snap.NodeByName(other.Status.NominatedNodeName)
		if node != nil && other.UID != pod.UID && corev1helpers.PodPriority(other.Pod) >= priority && !x.placedTogether(pod, other) {
			s.kept[node.Index] = append(s.kept[node.Index], other)
		}
	}
	if x.Nominations != nil {
		for node, uids := range x.Nominations.PlannedBelow(priority) {
			s.below[node] = append(s.below[node], uids...)
		}
	}
	if x.Members != nil {
		pods, on := x.Members.Yielding(priority)
		for i, other := range pods {
			s.below[on[i]] = append(s.below[on[i]], other.UID)
		}
	}
	return s
}

// placedTogether reports whether two pods are placed by one plan: members of a gang that has yet to start.
func (x *Explainer) placedTogether(pod, other *cluster.Pod) bool {
	a, member := membership.Of(pod)
	if b, of := membership.Of(other); x.Members == nil || !member || !of || a != b {
		return false
	}
	gang, _, known := x.Members.Member(pod.UID)
	return known && !gang.Started
}

// nodes tells of each node, and counts them.
func (s *survey) nodes() ([]Node, Nodes) {
	nodes, counted := []Node{}, Nodes{}
	now := sync.OnceValue(func() *rehearsal { return s.judge(false) }) // to judge takes memory
	later := sync.OnceValue(func() *rehearsal { return s.judge(true) })
	var nearest nearest
	for _, e := range s.store.Profile.Explain(s.pod, s.snap) {
		told := Node{Node: e.Node.Name, Total: e.Total, Scores: e.Scores, Against: e.Against}
		s.judgeNode(&told, e.Node.Index, now, later)
		if counted.count(&told); !told.Fits && !told.Yields && told.lacksRoomOnly() {
			node, against := e.Node.WithoutPod(s.pod.UID), told.Against
			if len(s.below[node.Name])+len(s.kept[node.Index]) > 0 { // plans would give way if that were enough
				node, against = s.settled(later(), node.Index)
			}
			if len(against) > 0 && !slices.ContainsFunc(against, besidesRoom) {
				nearest.consider(s.pod, node, against)
			}
		}
		nodes = append(nodes, told)
	}
	if counted.Fit+counted.Yield == 0 {
		counted.Nearest = nearest.gap(s.pod)
	}
	return nodes, counted
}

// judgeNode says whether a node that predicates speak of takes the pod now, or once plans give way, beside pods that are nominated to it.
func (s *survey) judgeNode(told *Node, index int32, now, later func() *rehearsal) {
	kept, below := len(s.kept[index]) > 0, len(s.below) > 0
	beside := len(told.Against) == 0 // there would be room, if none were kept
	if told.Fits = beside && (!kept || s.fits(now(), index)); told.Fits {
		return
	}
	told.Yields = below && s.fits(later(), index)
	if beside || kept && below && !told.Yields && later().takes(index) {
		told.Against = append(slices.Clip(told.Against), keptForNominated())
	}
}

// rehearsal is a cluster in which the pod is on no node.
type rehearsal struct {
	world *scenario.Scenario
	judge *scenario.Judge
}

// judge begins a rehearsal, without the pods of plans of lower priority if they yield.
func (s *survey) judge(yield bool) *rehearsal {
	world := scenario.New(s.snap)
	for node := range s.snap.Nodes() {
		for _, pod := range node.Pods {
			if pod.UID == s.pod.UID || yield && slices.Contains(s.below[node.Name], pod.UID) {
				world.Take(pod, node.Index)
			}
		}
	}
	return &rehearsal{world, world.Judge(s.store.Profile.Judge(s.pod, s.snap))}
}

// takes reports whether the pod fits on a node without the pods that are nominated to it.
func (in *rehearsal) takes(node int32) bool {
	return len(in.judge.Judgement().Reasons(in.world.Node(node))) == 0
}

// settled returns a node with the pods that are nominated to it, and what is against it then.
func (s *survey) settled(in *rehearsal, index int32) (*cluster.Node, []predicates.Objection) {
	before := in.world.Moves()
	defer func() { in.world.Undo(before) }()
	for _, pod := range s.kept[index] {
		in.world.Put(pod, index)
	}
	node := in.world.Node(index)
	return node, in.judge.Judgement().Reasons(node)
}

// fits reports whether the pod fits on a node beside the pods that are nominated to it.
func (s *survey) fits(in *rehearsal, node int32) bool {
	_, against := s.settled(in, node)
	return len(against) == 0
}
