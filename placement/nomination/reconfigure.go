package nomination

import (
	"muster.dev/muster/api/config"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// storeOf returns the verdicts by which a pod is planned, nil when it is not.
func (c *course) storeOf(pod *cluster.Pod) *predicates.VerdictStore {
	store := c.profiles.Of(pod.Spec.SchedulerName)
	if store == nil || c.skip(pod) {
		return nil
	}
	switch {
	case store.Profile.NodeSelection != config.NodeSelectionMuster:
		return nil
	case store.Profile.PlacesGated():
		if pod.Labels[v1alpha1.LabelAhead] == "false" {
			return nil
		}
	case hasGate(pod.Pod), c.reservations.Concerns(pod): // it is let go; a filter call takes what is kept for it
		return nil
	}
	return store
}

// judgeAnew goes on with the profiles that are in force now. Plans stand: the scheduler asks about them, and
// filter has the last word.
func (n *Nominator) judgeAnew() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range n.course.nominees {
		store := n.course.storeOf(p.pod)
		if store == p.store {
			continue
		}
		p.store, p.fruitless = store, 0
		switch p.stage {
		case waiting, resting, aside, withdrawing:
			p.until = n.clock.Now()
			n.course.place(p)
		case planning, held, writing, standing, taken: // it has a place
		}
	}
}
