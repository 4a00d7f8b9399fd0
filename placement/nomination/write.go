package nomination

import (
	"context"
	"fmt"

	"muster.dev/muster/cluster"
)

// post has the nomination of a pod written, or taken back.
func (c *course) post(p *nominee) {
	c.posts = append(c.posts, p)
	c.posted()
}

// writeNext writes what was posted first and is still to be written.
func (n *Nominator) writeNext(ctx context.Context) (written bool, err error) {
	p, pod, node := n.claim()
	if p == nil {
		return false, nil
	}
	if err = n.client.Nominate(ctx, pod.Pod, node); ctx.Err() != nil {
		return false, ctx.Err()
	}
	n.finish(p, node, err)
	if err != nil {
		err = fmt.Errorf("%s to %q: %w", name(pod), node, err)
	}
	return true, err
}

// claim takes the next thing to write: that a pod is nominated to a node, or to none if
// that is "". It is nil when there is nothing.
func (n *Nominator) claim() (p *nominee, pod *cluster.Pod, node string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for len(n.course.posts) > 0 {
		p, n.course.posts = n.course.posts[0], n.course.posts[1:]
		switch {
		case p.sending, n.course.nominees[p.pod.UID] != p:
		case p.stage == held:
			n.course.enter(p, writing)
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
func (n *Nominator) finish(p *nominee, node string, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.course.wrote(p, node, err)
	n.inbox.ring()
}
