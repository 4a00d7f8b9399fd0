package cluster

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

// Reserve makes a placeholder count on a node, until Unreserve or Exchange: a pod that does not exist, and
// keeps room for one that is to come. Its UID must be that of no other pod. Readers of the view take it for an
// assumed pod that does not expire and must not be evicted. A placeholder that counts already moves.
func (c *Cluster) Reserve(pod *Pod, node string) {
	placeholder := *pod
	placeholder.Placeholder = true
	c.mu.Lock()
	defer c.mu.Unlock()
	c.claims.foresee(&placeholder)
	c.ledger.put(&placeholder, node, decided)
}

// Foreseen returns a pod that the API server has not got, with the ResourceClaims that would be made for it.
func (c *Cluster) Foreseen(pod *Pod) *Pod {
	if len(pod.Spec.ResourceClaims) == 0 {
		return pod
	}
	next := *pod
	c.mu.Lock()
	defer c.mu.Unlock()
	c.claims.foresee(&next)
	return &next
}

// Unreserve ends what Reserve began. It does nothing to a pod that is no placeholder.
func (c *Cluster) Unreserve(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, placed := c.ledger.placed[uid]; placed && at.pod.Placeholder {
		c.ledger.take(uid)
	}
}

// Exchange is AssumeAsJudged for the pod that a placeholder stands for. The placeholder goes at the same moment: no
// third pod comes in between.
func (c *Cluster) Exchange(placeholder types.UID, pod *Pod, on Basis) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.waiting.assumeAsJudged(pod, on); err != nil {
		return err
	}
	if at, placed := c.ledger.placed[placeholder]; placed && at.pod.Placeholder {
		c.ledger.take(placeholder)
	}
	return nil
}

// PlaceOf returns the node on which a pod counts, "" when it is on none.
func (c *Cluster) PlaceOf(uid types.UID) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ledger.placed[uid].node
}

// IsPlaceholderPod reports whether a pod is there for kube-scheduler only, to keep room that the view knows of by
// Reserve. It never runs, and the view leaves it out.
func IsPlaceholderPod(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.SchedulingGates, func(g corev1.PodSchedulingGate) bool { return g.Name == v1alpha1.PlaceholderGate })
}
