package planner

import (
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement/scenario"
	"muster.dev/muster/predicates"
)

// Misplacement is a pod on a node that would not take it if it came there now.
type Misplacement struct {
	Pod  *cluster.Pod
	Node *cluster.Node // as in the snapshot
	// Objection is the first that one of the predicates makes that were asked for.
	Objection predicates.Objection
}

// Misplaced returns the pods that their nodes would not take if they came there now, by one of the predicates
// of these names. It leaves out pods that no plan moves under any rules, such as pods of DaemonSets, and pods
// of scheduler names without a profile.
func (p *Problem) Misplaced(by sets.Set[string]) (misplaced []Misplacement) {
	world, kinds := scenario.New(p.Snapshot), newKinds(p)
	for node := range p.Snapshot.Nodes() {
		for _, pod := range node.Pods {
			if p.Rules.byKind(pod) != "" || kinds.profiles[pod.Spec.SchedulerName] == nil {
				continue
			}
			for _, objection := range kinds.all[kinds.find(pod)].judge(world).Against(pod, node.Index) {
				if by.Has(objection.Predicate) {
					misplaced = append(misplaced, Misplacement{pod, node, objection})
					break
				}
			}
		}
	}
	return misplaced
}
