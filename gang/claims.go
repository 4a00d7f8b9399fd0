package gang

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/core"
	"muster.dev/muster/placement/scenario"
)

// claims finds where members would go once cordoned nodes are opened, as if each were there before the next one is looked
// at: for all that must start together, or for none.
func (s *search) claims(e core.FindPlaces) (claims []core.Planned) {
	if !e.Claim || e.Store == nil {
		return nil
	}
	snap := s.cluster.Snapshot()
	var cordoned []*cluster.Node
	for node := range snap.Nodes() {
		if node.Spec.Unschedulable {
			cordoned = append(cordoned, node)
		}
	}
	if len(cordoned) == 0 {
		return nil
	}
	world, deadline := scenario.New(snap), s.budget.deadline()
	for _, p := range e.Parts {
		missing := p.AtLeast
		for _, pod := range p.Pods {
			if missing == 0 {
				break
			}
			judge := world.Judge(e.Store.Profile.JudgeFit(pod, snap))
			at := slices.IndexFunc(cordoned, func(node *cluster.Node) bool {
				return !s.clock.Now().After(deadline) && judge.FitsIn(opened(world.Node(node.Index)))
			})
			if at < 0 {
				return nil
			}
			world.Put(pod, cordoned[at].Index)
			claims = append(claims, core.Planned{UID: pod.UID, Node: cordoned[at].Name})
			missing--
		}
	}
	return claims
}

// opened returns a node as it would be if it were not cordoned.
func opened(node *cluster.Node) *cluster.Node {
	object := node.DeepCopy()
	object.Spec.Unschedulable = false
	object.Spec.Taints = slices.DeleteFunc(object.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeUnschedulable })
	open := *node
	open.Node = object
	return &open
}
