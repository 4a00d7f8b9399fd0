package reservation

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/cluster"
)

// Promise is room for pods that are yet to come, beside what plans keep: somebody was told that they have a place.
type Promise struct {
	// Holder is the UID of what the pods are of, and Name says it for people.
	Holder types.UID
	Name   string
	// Of returns the set of pods that a pod of the holder is of, and false for other pods.
	Of func(pod *cluster.Pod) (set string, is bool)
	// Came are pods of it that are bound, and have room of their own. They are read where the holder has no room yet.
	Came  []*cluster.Pod
	Spots []Spot
}

// Spot is room for one pod of a set.
type Spot struct {
	Set string
	// Pod is the placeholder, without a node. Its UID must be that of no other pod.
	Pod *cluster.Pod
	// Node is the node, as it was when the place was found.
	Node *cluster.Node
}

// Standing is how far a promise is fulfilled: pods by set.
type Standing struct {
	// Kept is for how many pods there is room that none of them is bound to yet, and Came how many are bound.
	Kept, Came map[string]int
	// GaveUp says that the room was given up for a pod that nothing may keep out.
	GaveUp bool
}

// holding is the room that is kept for a holder.
type holding struct {
	holder types.UID
	name   string
	is     func(pod *cluster.Pod) (set string, is bool)
	spots  []Spot
	came   map[string]sets.Set[types.UID] // pods that need no room any more, by set
	counts sets.Set[types.UID]            // the same of all sets
}

// Hold keeps more room for a holder, until pods of it take it, [Keeper.Came] or [Keeper.Let]. If a node has changed since its
// place was found, it keeps none of that and returns [cluster.ErrNodeChanged].
func (k *Keeper) Hold(p *Promise) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	on := map[*cluster.Node][]*cluster.Pod{}
	for i := range p.Spots {
		on[p.Spots[i].Node] = append(on[p.Spots[i].Node], p.Spots[i].Pod)
	}
	for node, pods := range on {
		if err := k.cluster.ReserveAll(pods, node); err != nil {
			for i := range p.Spots {
				k.cluster.Unreserve(p.Spots[i].Pod.UID)
			}
			return err
		}
	}
	h := k.held[p.Holder]
	if h == nil {
		h = &holding{holder: p.Holder, is: p.Of, came: map[string]sets.Set[types.UID]{}, counts: sets.New[types.UID]()}
		k.held[p.Holder] = h
		for _, pod := range p.Came {
			h.comes(pod, k.reservations)
		}
	}
	h.name, h.is = p.Name, p.Of
	h.spots = append(h.spots, p.Spots...)
	k.refresh()
	return nil
}

// Let ends what is kept for a holder.
func (k *Keeper) Let(holder types.UID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.held, holder)
	delete(k.setbacks, holder)
	k.refresh()
}

// Came has room of a holder end that its pods need no more, as they are bound, and room on nodes that are gone. It returns how
// the promise stands, and false if there is none.
func (k *Keeper) Came(holder types.UID, bound []*cluster.Pod) (s Standing, known bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	h := k.held[holder]
	if h == nil {
		return Standing{}, false
	}
	snap := k.cluster.Snapshot()
	before := len(h.spots)
	h.spots = slices.DeleteFunc(h.spots, func(s Spot) bool { return snap.NodeByName(s.Node.Name) == nil })
	for _, pod := range bound {
		h.comes(pod, k.reservations)
	}
	if len(h.spots) != before {
		k.refresh()
	}
	s = Standing{Kept: map[string]int{}, Came: map[string]int{}}
	for i := range h.spots {
		s.Kept[h.spots[i].Set]++
	}
	for set, pods := range h.came {
		s.Came[set] = pods.Len()
	}
	_, s.GaveUp = k.setbacks[holder]
	return s, true
}

// comes takes in that a pod is bound. The room ends that it took, else room on its node, else any room of its set.
func (h *holding) comes(pod *cluster.Pod, reservations map[types.UID]*reservation) {
	set, is := h.is(pod)
	if !is || h.counts.Has(pod.UID) {
		return
	}
	h.counts.Insert(pod.UID)
	if h.came[set] == nil {
		h.came[set] = sets.New[types.UID]()
	}
	h.came[set].Insert(pod.UID)
	best, rank := -1, 0
	for i := range h.spots {
		spot := &h.spots[i]
		taker := types.UID("")
		if r := reservations[spot.Pod.UID]; r != nil {
			taker = r.taker
		}
		is := 1
		switch {
		case spot.Set != set:
			continue
		case taker == pod.UID:
			is = 4
		case taker != "":
		case spot.Node.Name == pod.Spec.NodeName:
			is = 3
		default:
			is = 2
		}
		if is > rank {
			best, rank = i, is
		}
	}
	if best >= 0 {
		h.spots = slices.Delete(h.spots, best, best+1)
	}
}

// want adds the reservations of a holder.
func (h *holding) want(wanted map[types.UID]*reservation) {
	for i := range h.spots {
		spot := &h.spots[i]
		wanted[spot.Pod.UID] = &reservation{
			plan: h.holder, pod: spot.Pod, node: spot.Node.Name, turn: i, of: h, set: spot.Set, open: true, siblings: h.counts,
		}
	}
}

// isHeldFor reports whether a pod is of the set that the room is for, and not bound yet.
func (r *reservation) isHeldFor(pod *cluster.Pod) bool {
	set, is := r.of.is(pod)
	return is && set == r.set && !r.of.counts.Has(pod.UID)
}
