package placement

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// nominatedBeside returns the nominated pods, except the pods to be placed, the most important first.
func nominatedBeside(store *predicates.VerdictStore, pods []*cluster.Pod) []*cluster.Pod {
	nominated := store.Nominated()
	if len(nominated) == 0 {
		return nil
	}
	own := sets.New[types.UID]()
	for _, pod := range pods {
		own.Insert(pod.UID)
	}
	return slices.DeleteFunc(nominated, func(pod *cluster.Pod) bool { return own.Has(pod.UID) })
}

// keepPromises puts on their nodes the nominated pods whose room the next pod must leave to them. Where pods
// are placed in the order of their priority, these are no more than necessary.
func (p *Plan) keepPromises(next *cluster.Pod) {
	for ; p.kept < len(p.nominated) && !lessImportant(p.nominated[p.kept], next); p.kept++ {
		pod := p.nominated[p.kept]
		if node := p.Snapshot().NodeByName(pod.Status.NominatedNodeName); node != nil {
			p.Put(pod, node.Index)
		}
	}
}

// keptBelow returns the nominated pods that are on their nodes already and less important than a pod: they were put there
// for an earlier pod, which was less important still.
func (p *Plan) keptBelow(pod *cluster.Pod) []*cluster.Pod {
	kept := p.nominated[:p.kept]
	from := slices.IndexFunc(kept, func(other *cluster.Pod) bool { return lessImportant(other, pod) })
	if from < 0 {
		return nil
	}
	return kept[from:]
}

func lessImportant(a, b *cluster.Pod) bool {
	return corev1helpers.PodPriority(a.Pod) < corev1helpers.PodPriority(b.Pod)
}
