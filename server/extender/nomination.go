package extender

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement/scenario"
)

// Nominations are the pods that are placed ahead of calls, as by [muster.dev/muster/placement/nomination.Nominator].
type Nominations interface {
	// Take says that the scheduler has taken up a pod, and returns the node that was planned for it, or "".
	Take(uid types.UID) (node string)
	// Planned reports whether a pod counts on its node only since it was planned there.
	Planned(uid types.UID) bool
	// PlannedBelow are, by node, the pods of less than a priority that Planned speaks of.
	PlannedBelow(above int32) map[string][]types.UID
	// Yield gives up what is planned for pods.
	Yield(pods []types.UID)
	// Pass returns once the lock was free.
	Pass()
}

// takes claims no pod: it takes each up that is not in flight, for all claimants after it.
type takes struct{ nominations Nominations }

// claim notes what was planned for the pod of a call.
func (t *takes) claim(c *call) (answered bool, err error) {
	c.planned = t.nominations.Take(c.subject.pod.UID)
	return false, nil
}

// nominated claims the pods that were nominated.
type nominated struct {
	picker      *picker
	nominations Nominations
}

// claim answers with the planned node, if it will do.
func (n *nominated) claim(c *call) (answered bool, err error) {
	if !c.picksNode() {
		return false, nil // the plan was another profile's
	}
	return n.picker.confirm(c, c.planned)
}

func (n *nominated) planned(uid types.UID) bool { return n.nominations.Planned(uid) }

// giveWay gives up the fewest nominations of lower priority on one node that are in the way.
func (n *nominated) giveWay(c *call) bool {
	pod := c.subject.pod
	planned := n.nominations.PlannedBelow(corev1helpers.PodPriority(pod.Pod))
	if len(planned) == 0 {
		return false
	}
	snap := n.picker.cluster.Snapshot()
	judge := scenario.New(snap).Judge(c.store.Profile.Judge(pod, snap))
	var fewest []types.UID
	for _, index := range c.candidates.in(snap) {
		node := snap.Node(index)
		if node == nil || len(planned[node.Name]) == 0 || fewest != nil && len(planned[node.Name]) >= len(fewest) {
			continue
		}
		freed := node.Without(func(other *cluster.Pod) bool { return slices.Contains(planned[node.Name], other.UID) })
		if judge.FitsIn(freed) {
			fewest = planned[node.Name]
		}
	}
	n.nominations.Yield(fewest)
	return fewest != nil
}
