package extender

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/predicates"
)

// shorten reduces the candidates that fit, in c.fitting and c.places, to the size of the profile's shortlist.
// It keeps the candidates with the highest totals. Among equals it keeps the first from a place on that changes
// from call to call, as kube-scheduler may name its nodes in the same order each time.
func (p *picker) shorten(c *call, view *predicates.View) {
	size := c.store.Profile.Shortlist
	if size == 0 || len(c.fitting) <= size || scoredByOthers(c.subject.pod.Spec) {
		return
	}
	totals := c.rank(view, c.fitting)
	c.best = c.best[:0]
	first := p.pick(len(totals))
	for i := range totals {
		c.best = addToBest(c.best, (first+i)%len(totals), totals, size)
	}
	slices.Sort(c.best) // in the order of the request
	for to, from := range c.best {
		c.fitting[to], c.places[to] = c.fitting[from], c.places[from]
	}
	c.fitting, c.places = c.fitting[:size], c.places[:size]
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
