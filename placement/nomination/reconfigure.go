package nomination

import (
	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// storeOf are the verdicts by which a pod is planned, nil when it is not.
func (c *course) storeOf(pod *cluster.Pod) *predicates.VerdictStore {
	store := c.profiles.Of(pod.Spec.SchedulerName)
	if store == nil || store.Profile.NodeSelection != config.NodeSelectionNominate {
		return nil
	}
	return store
}

// judgeAnew goes on with the profiles that are in force now. What is planned stands: the
// scheduler asks about it, and filter has the last word.
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
