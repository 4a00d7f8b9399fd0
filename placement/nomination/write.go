package nomination

import (
	"context"
	"time"

	"muster.dev/muster/cluster"
)

// post lets a writer write the nomination of a pod, or take it back.
func (n *Nominator) post(p *nominee) {
	n.posts = append(n.posts, p)
	n.callWriter()
}

func (n *Nominator) callWriter() {
	select {
	case n.posted <- struct{}{}:
	default:
	}
}

// write writes what is posted until the context ends.
func (n *Nominator) write(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.posted:
		}
		if n.limiter.Wait(ctx) != nil {
			return
		}
		p, pod, node := n.claim()
		if p == nil {
			continue
		}
		started := n.clock.Now()
		err := n.client.Nominate(ctx, pod.Pod, node)
		if ctx.Err() != nil {
			return
		}
		n.finish(p, pod, node, err, n.clock.Since(started))
	}
}

// claim takes the next thing to write: that a pod is nominated to a node, or to none if
// that is "". It is nil when there is nothing.
func (n *Nominator) claim() (p *nominee, pod *cluster.Pod, node string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for len(n.posts) > 0 {
		p, n.posts = n.posts[0], n.posts[1:]
		if len(n.posts) > 0 {
			n.callWriter() // another one
		}
		switch {
		case p.sending, n.nominees[p.pod.UID] != p:
		case p.stage == held:
			n.enter(p, writing)
			p.sending = true
			p.attempts++
			return p, p.decided, p.node
		case p.stage == withdrawing && p.nominated() == p.mine:
			p.sending, p.decided = true, p.pod
			return p, p.decided, ""
		}
	}
	return nil, nil, ""
}

// finish follows the end of a write.
func (n *Nominator) finish(p *nominee, pod *cluster.Pod, node string, err error, took time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.metrics.write.Observe(took.Seconds())
	if n.health.note(took, err, n.limits.SlowWrite) && !n.health.pausing(n.clock.Now()) {
		n.health.until = n.clock.Now().Add(n.limits.Pause)
		n.log.Warn("nominating nothing for a while: the API server is slow or refuses it",
			"pause", n.limits.Pause, "pod", name(pod), "node", node, "took", took, "error", err)
	}
	n.wrote(p, node, err)
	n.inbox.ring()
}

// health is how the API server fares with writes.
type health struct {
	average time.Duration
	until   time.Time // nothing is nominated before
}

// note says whether writes are too slow, or fail for a reason that is not the pod's.
func (h *health) note(took time.Duration, err error, slow time.Duration) bool {
	const weight = 8 // of the past, to one of the present
	h.average += (took - h.average) / (weight + 1)
	if h.average <= slow && (err == nil || failure(err) != Failed) {
		return false
	}
	h.average = 0
	return true
}

func (h *health) pausing(now time.Time) bool { return now.Before(h.until) }
