package cluster

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
)

// Nominated returns the waiting or gated pods that somebody has nominated to a node (status.nominatedNodeName),
// except pods that count on a node already: the most important first. It is nil when there are none.
//
// kube-scheduler takes the room of such a pod as taken when it tries pods of lower or equal
// priority (addNominatedPods in pkg/scheduler/framework/runtime/framework.go).
func (c *Cluster) Nominated() []*Pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	var pods []*Pod
	for uid, pod := range c.waiting.nominated {
		if _, counts := c.ledger.placed[uid]; !counts {
			pods = append(pods, pod)
		}
	}
	slices.SortFunc(pods, func(a, b *Pod) int {
		return cmp.Or(
			cmp.Compare(corev1helpers.PodPriority(b.Pod), corev1helpers.PodPriority(a.Pod)),
			cmp.Compare(a.UID, b.UID),
		)
	})
	return pods
}

// nominate follows a pod that waits or is gated, nil for one that does neither any more. For a pod that counts
// on a node the journal says all that matters.
func (w *waiting) nominate(uid types.UID, pod *Pod) {
	if pod != nil && pod.Status.NominatedNodeName == "" {
		pod = nil
	}
	before := w.nominated[uid]
	if pod != nil {
		w.nominated[uid] = pod
	} else {
		delete(w.nominated, uid)
	}
	if _, counts := w.ledger.placed[uid]; counts || before == nil && pod == nil ||
		before != nil && pod != nil && before.Status.NominatedNodeName == pod.Status.NominatedNodeName {
		return
	}
	w.view.enter(Change{Node: -1, Aspects: AspectNominated, Object: key(cmp.Or(pod, before))})
}
