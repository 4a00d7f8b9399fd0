package executor

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement/scenario"
	"muster.dev/muster/predicates"
	"muster.dev/muster/rescheduler/planner"
)

// The time between two looks for pods that need a node which is closed: when others have come since the last one, and when
// none have.
const (
	newcomerPause = time.Second
	needPause     = 5 * time.Second
)

// needed returns the closed nodes that waiting pods need: such a pod would fit there without the mark, and fits
// no open node. A node that a plan keeps room on for a pod does not count as needed: the room looks taken.
func (m *marks) needed() sets.Set[string] {
	now := m.Clock.Now()
	if now.Before(m.needsLooked.Add(newcomerPause)) {
		return nil
	}
	waiting := planner.Waiting(m.Cluster)
	came := slices.ContainsFunc(waiting, func(pod *cluster.Pod) bool { return !m.needy.Has(pod.UID) })
	if now.Before(m.needsLooked.Add(needPause)) && !came {
		return nil
	}
	snap := m.Cluster.Snapshot()
	var open, closed []*cluster.Node
	for node := range snap.Nodes() {
		switch {
		case planner.NoTarget(node) != "":
		case isEmptied(node) && isClosed(node.Node):
			closed = append(closed, node)
		default:
			open = append(open, node)
		}
	}
	if len(closed) == 0 {
		return nil
	}
	m.needsLooked, m.needy = now, sets.New[types.UID]()
	slices.SortFunc(closed, func(a, b *cluster.Node) int { return cmp.Compare(a.Name, b.Name) })
	s := &squeeze{world: scenario.New(snap), open: open, closed: closed, kinds: map[any]*kind{}, needed: sets.New[string]()}
	for _, pod := range waiting {
		m.needy.Insert(pod.UID)
		if store := m.Profiles.Of(pod.Spec.SchedulerName); store != nil && m.Cluster.PlaceOf(pod.UID) == "" && !m.Reservations.Concerns(pod) {
			s.place(pod, store)
		}
	}
	return s.needed
}

// squeeze puts waiting pods on nodes, one after the other: it needs no more closed nodes than suffice, and
// enough of them for all of a gang.
type squeeze struct {
	world        *scenario.Scenario
	open, closed []*cluster.Node
	kinds        map[any]*kind // by class, or by UID of a pod that has none
	needed       sets.Set[string]
}

// kind is the pods of one class that wait.
type kind struct {
	judge    *scenario.Judge
	next     int // of the open nodes, the first that may have room
	hopeless bool
}

func (s *squeeze) kindOf(pod *cluster.Pod, store *predicates.VerdictStore) *kind {
	type classOf struct {
		store *predicates.VerdictStore
		class predicates.Class
	}
	var key any = classOf{store, store.ClassOf(pod)}
	if store.ClassOf(pod).None() {
		key = pod.UID
	}
	if s.kinds[key] == nil {
		s.kinds[key] = &kind{judge: s.world.Judge(store.Profile.Judge(pod, s.world.Snapshot()))}
	}
	return s.kinds[key]
}

// place puts a pod on an open node, else on a closed one that is needed anyway, else on another one.
func (s *squeeze) place(pod *cluster.Pod, store *predicates.VerdictStore) {
	k := s.kindOf(pod, store)
	if k.hopeless {
		return
	}
	for ; k.next < len(s.open); k.next++ {
		if at := s.open[k.next].Index; k.judge.Fits(at) {
			s.world.Put(pod, at)
			return
		}
	}
	for _, anyway := range []bool{true, false} {
		for _, node := range s.closed {
			if s.needed.Has(node.Name) == anyway && k.judge.FitsIn(asOpen(s.world.Node(node.Index))) {
				s.needed.Insert(node.Name)
				s.world.Put(pod, node.Index)
				return
			}
		}
	}
	k.hopeless = true
}

// asOpen returns a node as it would be without the mark.
func asOpen(node *cluster.Node) *cluster.Node {
	object := node.DeepCopy()
	if isOurCordon(object) { // and without the taint that a cordon brings about
		object.Spec.Taints = slices.DeleteFunc(object.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeUnschedulable })
	}
	openNode(object)
	opened := *node
	opened.Node = object
	return &opened
}
