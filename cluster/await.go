package cluster

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// arrival is a pod that somebody waits for the watch to show.
type arrival struct {
	shown   chan struct{}
	waiting int
}

// AwaitPending is PendingPod, but for a pod that the watch has not shown at all it waits until it
// does, so long at most, or the context ends: kube-scheduler follows the API server by a watch of its
// own, which may be ahead of this one.
func (c *Cluster) AwaitPending(ctx context.Context, uid types.UID, longest time.Duration) *Pod {
	pod, a := c.await(uid)
	if a == nil {
		return pod
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	select {
	case <-ctx.Done():
	case <-a.shown:
	}
	return c.arrived(uid, a)
}

// await returns a pending pod, or what to wait for if the watch shows none, neither pending nor on
// a node.
func (c *Cluster) await(uid types.UID) (*Pod, *arrival) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, placed := c.placed[uid]; placed || c.pending[uid] != nil {
		return c.pending[uid], nil
	}
	a := c.awaited[uid]
	if a == nil {
		a = &arrival{shown: make(chan struct{})}
		c.awaited[uid] = a
	}
	a.waiting++
	return nil, a
}

// arrived ends a wait.
func (c *Cluster) arrived(uid types.UID, a *arrival) *Pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.waiting--; a.waiting == 0 && c.awaited[uid] == a {
		delete(c.awaited, uid)
	}
	return c.pending[uid]
}

// arrive ends all waits for a pod. The caller holds the lock, and has taken the pod in.
func (c *Cluster) arrive(uid types.UID) {
	if a := c.awaited[uid]; a != nil {
		close(a.shown)
		delete(c.awaited, uid)
	}
}
