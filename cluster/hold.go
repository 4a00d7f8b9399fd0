package cluster

import "k8s.io/apimachinery/pkg/types"

// Hold makes a pod that does not exist count on a node, so that its room is left to one that
// is to come, until LetGo or Exchange. Its UID must be that of no other pod. To everybody it
// is as an assumed pod, which does not expire and which nobody may evict. If it is held
// already, it is held there from now on.
func (c *Cluster) Hold(pod *Pod, node string) {
	held := *pod
	held.Held = true
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ledger.put(&held, node, decided)
}

// LetGo ends what Hold began. It does nothing to a pod that is not held.
func (c *Cluster) LetGo(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, placed := c.ledger.placed[uid]; placed && at.pod.Held {
		c.ledger.take(uid)
	}
}

// Exchange is Assume for the pod that a held one stands for, which goes at the same moment: no
// third one comes in between.
func (c *Cluster) Exchange(held types.UID, pod *Pod, on *Node) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.ledger.assumeAll([]*Pod{pod}, on); err != nil {
		return err
	}
	if at, placed := c.ledger.placed[held]; placed && at.pod.Held {
		c.ledger.take(held)
	}
	return nil
}

// PlaceOf is the node on which a pod counts, "" when it is on none.
func (c *Cluster) PlaceOf(uid types.UID) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ledger.placed[uid].node
}
