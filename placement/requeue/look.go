package requeue

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement"
	"muster.dev/muster/predicates"
)

const (
	// mostLookedAt is how many pods are looked at in one go.
	mostLookedAt = 100
	// lookTime bounds that for each profile: filter calls about pods of the same classes wait.
	lookTime = 50 * time.Millisecond
	// elsewhereRest is when it is looked again whether a pod is placed for itself.
	elsewhereRest = 5 * time.Second
	// victimRest is when it is looked whether victims have gone, and again.
	victimRest = 5 * time.Second
)

// look wakes pods that were refused and fit now, as far as anything has changed for them since.
func (r *Requeuer) look() {
	byStore := map[*predicates.VerdictStore][]*cluster.Pod{}
	for _, pod := range r.due() {
		if store := r.profiles.Of(pod.Spec.SchedulerName); store != nil {
			byStore[store] = append(byStore[store], pod)
		}
	}
	rounds := map[*predicates.VerdictStore]*round{}
	for store, pods := range byStore {
		rounds[store] = newRound(store, pods, r.rounds[store])
		r.try(rounds[store])
	}
	r.rounds = rounds
}

// due returns the pods to look at, the ones looked at longest ago first.
func (r *Requeuer) due() []*cluster.Pod {
	snap, now := r.cluster.Snapshot(), r.clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	settled := r.looked
	r.looked = snap.Generation
	var due []*waiter
	for _, w := range r.waiting {
		if w.isDue(snap.Freed, settled, now) {
			due = append(due, w)
		}
	}
	slices.SortFunc(due, byLook)
	pods := make([]*cluster.Pod, len(due))
	for i, w := range due {
		pods[i] = w.pod
	}
	return pods
}

// mine returns the first of the pods that nobody else sees to. One that is assumed has its room: when
// that is given up, it is freed.
func (r *Requeuer) mine(due *round) []*cluster.Pod {
	var mine, others []*cluster.Pod
	due.inTurn(func(pod *cluster.Pod) (goOn bool) {
		if r.cluster.Assumed(pod.UID) == "" && r.alone(pod) {
			mine = append(mine, pod)
		} else {
			others = append(others, pod)
		}
		return len(mine) < mostLookedAt
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, pod := range others {
		if w := r.waiting[pod.UID]; w != nil {
			w.until = r.clock.Now().Add(elsewhereRest)
		}
	}
	return mine
}

// try places the first pods of a round for trial and wakes the pods that get a place.
func (r *Requeuer) try(due *round) {
	pods := r.mine(due)
	slices.SortFunc(pods, byTurn)
	r.seed++
	plan := placement.New(due.store, pods, r.seed)
	snap := plan.Snapshot()
	outcome := plan.PlaceAll(pods, 0, due.store.Clock().Now().Add(lookTime))
	plan.Close()
	var deaf *cluster.Pod // the first pod that only a nomination reaches, and the node for it
	var on string
	full := sets.New[predicates.Class]()
	for i := range outcome.Places {
		place := &outcome.Places[i]
		fits := place.Node >= 0
		if late := outcome.Late && !fits && place.Against == nil; late {
			continue // another look begins with it
		}
		isDeaf := r.note(place.Pod.UID, fits, snap.Generation)
		switch {
		case !fits:
			full.Insert(due.classOf(place.Pod))
			if node := r.mayEvict(place.Pod.UID, snap.Freed); node != "" && deaf == nil {
				deaf, on = place.Pod, node
			}
		case !isDeaf:
			r.wake(place.Pod)
		case deaf == nil:
			deaf, on = place.Pod, snap.Node(place.Node).Name
		}
	}
	tried := sets.New(pods...)
	for class := range full {
		for _, pod := range due.byClass[class] {
			if !tried.Has(pod) && pod.Status.NominatedNodeName == "" { // room may be kept for it
				r.note(pod.UID, false, snap.Generation)
			}
		}
	}
	if deaf != nil {
		r.wakeAll(deaf, on)
	}
}

// mayEvict returns the node on which a pod may evict others now, which it might not when it was asked for; "" for none.
// It is about to be woken, and rests.
func (r *Requeuer) mayEvict(uid types.UID, freed uint64) (node string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.waiting[uid]
	if w == nil || !w.postponed.isOver(freed, r.clock.Now()) {
		return ""
	}
	w.restFrom(r.clock.Now())
	return w.postponed.node
}

// note keeps the result of trying a pod at a generation: one that fits is about to be woken, and
// rests. It says whether it was woken already, and is deaf to that.
func (r *Requeuer) note(uid types.UID, fits bool, generation uint64) (deaf bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.waiting[uid]
	if w == nil {
		return false // the goroutine that writes will see it
	}
	deaf, w.since = w.heard == woken, generation
	if w.refused != 0 {
		w.refused = generation
	}
	switch {
	case fits:
		w.refused = 0
		w.restFrom(r.clock.Now())
	case w.preempts():
		w.until = r.clock.Now().Add(victimRest)
	}
	if !fits || !deaf {
		w.heard = nothing
	}
	return deaf
}
