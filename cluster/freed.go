package cluster

// Room is freed unseen when a pod ceases to count on a node where the API server never showed it: an assumption
// that is released, expires, moves or is refuted, room that was held, a pod that was expected. All of these end
// in markFreed, regardless of the caller and the reason, so that [Snapshot.Freed] misses none. A pod that the
// watch showed on its node leaves kube-scheduler's view as well. A lost node has no room to free, but the pod
// that counted there may go elsewhere now.

// left notes that a pod no longer counts on the node where it did.
func (l *ledger) left(at place) {
	if at.unseen() {
		l.markFreed()
	}
}

// unseen reports whether the watch has not shown the pod there.
func (p place) unseen() bool { return p.pod.Spec.NodeName != p.node }

// NoteFreed notes that pods may go where they could not, though nothing has ceased to count: somebody
// kept them off nodes, and does no more. The API server shows nothing of that either.
func (c *Cluster) NoteFreed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.view.noteFreed()
}

// noteFreed enters that room became free, though no node has changed.
func (v *view) noteFreed() {
	v.enter(Change{Node: -1})
	v.markFreed()
}

// markFreed notes of the last change that it freed room unseen.
func (v *view) markFreed() { v.freed = v.generation }

// passesBy reports whether a pod is bound to another node than it was nominated to: kube-scheduler kept
// room for it there, and tells nobody that it does no more (deletePodFromSchedulingQueue in
// pkg/scheduler/eventhandlers.go).
func (w *waiting) passesBy(bound *Pod) bool {
	was := w.pending[bound.UID]
	return was != nil && was.Status.NominatedNodeName != "" && was.Status.NominatedNodeName != bound.Spec.NodeName
}
