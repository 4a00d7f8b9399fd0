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

// AwaitPending is PendingPod, except that it waits for a pod that the watch has not shown yet, or not with its
// claims. It waits until the watch shows the pod, at most for the given time or until the context ends:
// kube-scheduler follows the API server by watches of its own, which may be ahead of these.
func (c *Cluster) AwaitPending(ctx context.Context, uid types.UID, longest time.Duration) *Pod {
	c.mu.Lock()
	pod, a := c.waiting.await(uid)
	c.mu.Unlock()
	if a == nil {
		return pod
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	select {
	case <-ctx.Done():
	case <-a.shown:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waiting.arrived(uid, a)
}

// await returns a pending pod, or what to wait for if the watch shows none, neither pending nor on
// a node, or lacks a claim of it.
func (w *waiting) await(uid types.UID) (*Pod, *arrival) {
	pod := w.pending[uid]
	if _, placed := w.ledger.placed[uid]; pod == nil && placed || pod != nil && pod.ClaimProblem != ClaimMissing {
		return pod, nil
	}
	a := w.awaited[uid]
	if a == nil {
		a = &arrival{shown: make(chan struct{})}
		w.awaited[uid] = a
	}
	a.waiting++
	return nil, a
}

// arrived ends a wait.
func (w *waiting) arrived(uid types.UID, a *arrival) *Pod {
	if a.waiting--; a.waiting == 0 && w.awaited[uid] == a {
		delete(w.awaited, uid)
	}
	return w.pending[uid]
}

// arrive ends all waits for a pod, unless claims of it are missing. The caller has taken the pod in.
func (w *waiting) arrive(uid types.UID) {
	if pod := w.pending[uid]; pod != nil && pod.ClaimProblem == ClaimMissing {
		return
	}
	if a := w.awaited[uid]; a != nil {
		close(a.shown)
		delete(w.awaited, uid)
	}
}
