package nomination

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/predicates"
)

// Reason is why the gate of a pod was lifted.
type Reason string

// Reasons to lift a gate.
const (
	Placed   Reason = "placed"   // kube-scheduler knows the place of the pod
	Unplaced Reason = "unplaced" // plans find no place: preemption and autoscalers are to see the pod
	Paused   Reason = "paused"   // writes are slow or fail, so that nothing is planned
	Overdue  Reason = "overdue"  // it has been gated for too long
	NotOurs  Reason = "not_ours" // muster does not place the pod
	GivenUp  Reason = "given_up" // its nominations failed
	stays    Reason = ""         // the gate is not lifted
)

func reasons() []Reason { return []Reason{Placed, Unplaced, Paused, Overdue, NotOurs, GivenUp} }

// gate describes the gate of a pod that is placed before kube-scheduler sees it.
type gate struct {
	met    time.Time // since when it is up to muster alone when the pod goes
	vain   time.Time // since when plans have found no place; zero when the last one has found one
	again  time.Time // when lifting it is to be tried again
	failed int       // so often it could not be lifted
	lifted bool      // as the API server has said
	spent  Reason    // why the pod is kube-scheduler's for good, if it is
}

// isOurs reports whether a gate is the one that this package lifts.
func isOurs(g corev1.PodSchedulingGate) bool { return g.Name == v1alpha1.AheadGate }

func hasGate(pod *corev1.Pod) bool { return slices.ContainsFunc(pod.Spec.SchedulingGates, isOurs) }

// gatedByOthers reports whether it is not up to this package when kube-scheduler looks at the pod.
func gatedByOthers(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.SchedulingGates, func(g corev1.PodSchedulingGate) bool { return !isOurs(g) })
}

// gated reports whether kube-scheduler does not see the pod until its gate is lifted.
func (p *nominee) gated() bool { return !p.gate.lifted && hasGate(p.pod.Pod) }

// ahead reports whether the pod is of a profile whose pods are placed while they are gated.
func (p *nominee) ahead() bool { return placesGated(p.store) }

func placesGated(store *predicates.VerdictStore) bool {
	return store != nil && store.Profile.PlacesGated()
}

// isLeft reports whether kube-scheduler places the pod: muster let it go without a place, or somebody else lifted its gate.
func (p *nominee) isLeft() bool {
	return p.gate.spent != stays || p.ahead() && p.attempts == 0 && !p.gated()
}

// whyGo says why the gate of a pod is to be lifted now. It is a question of the pod's stage and of time alone, so a pod
// is gated for [Limits.MaxGated] at most, and for as long as writes fail.
func (c *course) whyGo(p *nominee) Reason {
	now := c.clock.Now()
	overdue := now.Sub(p.gate.met) >= c.limits.MaxGated
	switch p.stage {
	case held, writing: // until that write has ended
		return stays
	case taken:
		return Placed
	case standing:
		if c.isTold(p) || overdue {
			return Placed
		}
		return stays
	case aside:
		switch {
		case p.gate.spent != stays:
			return p.gate.spent
		case p.attempts >= c.limits.Attempts:
			return GivenUp
		}
		return NotOurs
	case waiting, resting, planning, withdrawing:
	}
	switch vain := p.gate.vain; {
	case overdue:
		return Overdue
	case !vain.IsZero() && now.Sub(vain) >= c.limits.NoPlace:
		return Unplaced
	case now.Sub(p.gate.met) >= c.limits.NoPlace && c.pausing():
		return Paused
	}
	return stays
}

// isTold reports whether kube-scheduler knows the place of a pod, and of no other pod that the place was kept
// for. Else the watch is about to show it.
func (c *course) isTold(p *nominee) bool {
	return p.nominated() == p.node && !c.reservations.Blocks(p.pod.UID)
}

// letGo has the gate of a pod lifted, if it is to be.
func (c *course) letGo(p *nominee) {
	if !p.gated() || p.sending || c.clock.Now().Before(p.gate.again) || c.whyGo(p) == stays {
		return
	}
	c.post(p)
}

// goes notes that the gate of a pod is being lifted. Without a place, the pod is not planned any more.
func (c *course) goes(p *nominee, why Reason) {
	if why == Placed {
		return
	}
	p.gate.spent, p.fruitless = why, 0
	switch p.stage {
	case waiting, resting, planning:
		c.place(p)
	case held, writing, standing, taken, withdrawing, aside:
	}
}

// wentOn follows the end of a write that lifts a gate.
func (c *course) wentOn(p *nominee, why Reason, err error) {
	if err != nil {
		p.gate.failed++
		p.gate.again = c.clock.Now().Add(c.backoff(p.gate.failed))
		return
	}
	p.gate.lifted = true
	c.metrics.lifted.WithLabelValues(string(why)).Inc()
}
