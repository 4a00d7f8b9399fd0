package extender

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement"
	"muster.dev/muster/predicates"
)

// ranking is the memory in which candidates are judged and ranked.
type ranking struct {
	fitting  []int32
	places   []int
	rejected []rejection
	totals   []int64
	highest  []int
}

// judge returns an answer that offers all candidates on which a pod fits by a view. Nodes that plans of the
// rescheduler keep the pod away from are left. It is valid until the next one is made.
func (r *ranking) judge(view *predicates.View, about *cluster.Pod, nodes candidates, left sets.Set[string]) answer {
	a := answer{about: about, nodes: nodes, offered: r.fitting[:0], places: r.places[:0], rejected: r.rejected[:0]}
	view.JudgeAll(nodes.indexes)
	for i, index := range nodes.indexes {
		if verdict := verdict(view, index, left); verdict != predicates.Fits {
			a.rejected = append(a.rejected, rejection{index, verdict})
			continue
		}
		a.offered, a.places = append(a.offered, index), append(a.places, i)
	}
	r.fitting, r.places, r.rejected = a.offered, a.places, a.rejected
	return a
}

// only returns an answer that offers one candidate, and tells nothing of the others. It takes the place of the
// last one that was judged.
func (r *ranking) only(at int, index int32, nodes candidates) answer {
	r.fitting, r.places = append(r.fitting[:0], index), append(r.places[:0], at)
	return answer{nodes: nodes, offered: r.fitting, places: r.places}
}

// verdict returns the verdict of the view, unless plans keep the pod away from the node. Without plans
// there is nothing to look for.
func verdict(view *predicates.View, index int32, left sets.Set[string]) predicates.Verdict {
	verdict := view.Verdict(index)
	if verdict == predicates.Fits && len(left) > 0 && left.Has(view.Snapshot.Node(index).Name) {
		return predicates.LeftNode
	}
	return verdict
}

// rank returns the totals of nodes, until others are ranked.
func (r *ranking) rank(view *predicates.View, nodes []int32) []int64 {
	r.totals = slices.Grow(r.totals[:0], len(nodes))[:len(nodes)]
	view.Rank(nodes, r.totals)
	return r.totals
}

// best returns which of the nodes that an answer offers has the highest total; -1 when there is none.
//
// Of several, it is the one with the least [placement.Misfit]. Among several still, it is one at random, as in
// kube-scheduler.
func (r *ranking) best(view *predicates.View, a *answer, pick func(n int) int) (best int) {
	best = -1
	var highest int64
	var least float64
	ties := 0
	for i, total := range r.rank(view, a.offered) {
		if best >= 0 && total < highest {
			continue
		}
		misfit := placement.Misfit(a.about, view.Node(a.offered[i]))
		switch {
		case best < 0 || total > highest || misfit < least:
			best, highest, least, ties = i, total, misfit, 1
		case misfit == least:
			if ties++; pick(ties) == 0 {
				best = i
			}
		}
	}
	return best
}

// shorten reduces what an answer offers to the size of a shortlist: to the candidates with the highest totals. Among
// equals it keeps the first from a place on that changes from call to call, as kube-scheduler may name its nodes in the
// same order each time.
func (r *ranking) shorten(view *predicates.View, a *answer, size int, pick func(n int) int) {
	if size == 0 || len(a.offered) <= size || scoredByOthers(a.about.Spec) {
		return
	}
	totals := r.rank(view, a.offered)
	r.highest = r.highest[:0]
	first := pick(len(totals))
	for i := range totals {
		r.highest = addToBest(r.highest, (first+i)%len(totals), totals, size)
	}
	slices.Sort(r.highest) // in the order of the request
	for to, from := range r.highest {
		a.offered[to], a.places[to] = a.offered[from], a.places[from]
	}
	a.offered, a.places = a.offered[:size], a.places[:size]
}

// addToBest adds i to the indexes of the highest totals, size at most and the highest first. Indexes that were
// added before come before equals.
func addToBest(best []int, i int, totals []int64, size int) []int {
	if len(best) == size {
		if totals[i] <= totals[best[size-1]] {
			return best
		}
		best = best[:size-1]
	}
	at := len(best)
	for at > 0 && totals[best[at-1]] < totals[i] {
		at--
	}
	return slices.Insert(best, at, i)
}

// scoredByOthers reports whether kube-scheduler may rate nodes for a pod by what muster does not rate: by the devices
// and by the volumes that a node has for it.
func scoredByOthers(spec corev1.PodSpec) bool {
	return len(spec.ResourceClaims) > 0 || slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil || v.Ephemeral != nil
	})
}
