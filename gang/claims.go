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
func (p *ports) claims(s core.Search) (claims []core.Planned) {
	if s.Store == nil {
		return nil
	}
	snap := p.cluster.Snapshot()
	var cordoned []*cluster.Node
	for node := range snap.Nodes() {
		if node.Spec.Unschedulable {
			cordoned = append(cordoned, node)
		}
	}
	if len(cordoned) == 0 {
		return nil
	}
	world, deadline := scenario.New(snap), p.budget.deadline()
	for _, part := range s.Parts {
		missing := part.AtLeast
		for _, pod := range part.Pods {
			if missing == 0 {
				break
			}
			judge := world.Judge(s.Store.Profile.JudgeFit(pod, snap))
			at := slices.IndexFunc(cordoned, func(node *cluster.Node) bool {
				return !p.clock.Now().After(deadline) && judge.FitsIn(opened(world.Node(node.Index)))
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
