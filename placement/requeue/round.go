package requeue

import (
	"slices"

	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// round has the pods of a profile that are due, by class. Pods of a class fit the same nodes: once one of them
// has no place, the pods after it in the queue have none either, and need not be looked at.
type round struct {
	store   *predicates.VerdictStore
	order   []predicates.Class // by the last look at a pod of the class, the longest ago first
	byClass map[predicates.Class][]*cluster.Pod
	classes map[*cluster.Pod]predicates.Class
}

// newRound takes pods in the order in which they were looked at. It takes over the round before as far as it
// knows their classes.
func newRound(store *predicates.VerdictStore, pods []*cluster.Pod, before *round) *round {
	r := &round{store: store, byClass: map[predicates.Class][]*cluster.Pod{}, classes: map[*cluster.Pod]predicates.Class{}}
	for _, pod := range pods {
		class := before.classOf(pod)
		if class.None() {
			class = classIn(store, pod)
		}
		if r.byClass[class] == nil {
			r.order = append(r.order, class)
		}
		r.byClass[class] = append(r.byClass[class], pod)
		r.classes[pod] = class
	}
	for _, alike := range r.byClass {
		slices.SortFunc(alike, byTurn)
	}
	return r
}

// classIn returns the class of a pod for a profile; of a pod without one, the class of the pods that no plugin
// can tell from it.
func classIn(store *predicates.VerdictStore, pod *cluster.Pod) predicates.Class {
	if class := store.ClassOf(pod); !class.None() {
		return class
	}
	return store.Profile.AloneAs(pod)
}

// classOf returns the class of a pod of the round, none for any other one.
func (r *round) classOf(pod *cluster.Pod) predicates.Class {
	if r == nil {
		return predicates.Class{}
	}
	return r.classes[pod]
}

// inTurn visits the first pod of each class, then the second ones, and so on, until it is told to stop.
func (r *round) inTurn(visit func(*cluster.Pod) (goOn bool)) {
	for rank, left := 0, true; left; rank++ {
		left = false
		for _, class := range r.order {
			alike := r.byClass[class]
			if rank >= len(alike) {
				continue
			}
			left = true
			if !visit(alike[rank]) {
				return
			}
		}
	}
}
