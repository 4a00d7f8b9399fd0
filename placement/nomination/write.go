package nomination

import (
	"context"
	"fmt"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
)

// kind is the kind of change that a write makes to a pod.
type kind int

const (
	nominates kind = iota // or takes the nomination back
	lifts                 // the gate
)

// write is one request about a pod. No two are under way for one pod.
type write struct {
	nominee *nominee
	what    kind
	pod     *cluster.Pod // as it is to be
	node    string       // "" takes a nomination back
	why     Reason       // the gate is lifted
}

// post has the next thing written that is to be written to a pod, unless a write is under way, which decides what comes next when it ends.
// A pod stands in the queue once: what is to be written is decided when its turn comes.
func (c *course) post(p *nominee) {
	if p.posted || p.sending {
		return
	}
	p.posted = true
	c.posts = append(c.posts, p)
	c.posted()
}

// writeNext writes what was posted first and is still to be written.
func (n *Nominator) writeNext(ctx context.Context) (written bool, err error) {
	w := n.claim()
	if w == nil {
		return false, nil
	}
	if err = n.send(ctx, w); ctx.Err() != nil {
		return false, ctx.Err()
	}
	n.finish(w, err)
	return true, err
}

func (n *Nominator) send(ctx context.Context, w *write) (err error) {
	switch w.what {
	case nominates:
		if err = n.client.Nominate(ctx, w.pod.Pod, w.node); err != nil {
			err = fmt.Errorf("%s to %q: %w", w.pod.FullName(), w.node, err)
		}
	case lifts:
		if err = n.gates.LiftGate(ctx, w.pod.Pod, v1alpha1.AheadGate); err != nil {
			err = fmt.Errorf("lift the gate of %s: %w", w.pod.FullName(), err)
		}
	}
	return err
}

// claim takes the next thing to write, nil when there is nothing.
func (n *Nominator) claim() *write {
	n.mu.Lock()
	defer n.mu.Unlock()
	for len(n.course.posts) > 0 {
		p := n.course.posts[0]
		n.course.posts = n.course.posts[1:]
		p.posted = false
		if n.course.nominees[p.pod.UID] != p {
			continue
		}
		if w := n.course.next(p); w != nil {
			p.sending = true
			return w
		}
	}
	return nil
}

// next decides the write that a pod needs now, and returns it; nil when it needs none.
func (c *course) next(p *nominee) *write {
	if p.gated() {
		if why := c.whyGo(p); why != stays && !c.clock.Now().Before(p.gate.again) {
			c.goes(p, why)
			return &write{nominee: p, what: lifts, pod: p.pod, why: why}
		}
	}
	switch {
	case p.stage == held:
		c.enter(p, writing)
		p.attempts++
		return &write{nominee: p, what: nominates, pod: p.decided, node: p.node}
	case p.stage == withdrawing && p.nominated() == p.mine:
		p.decided = p.pod
		return &write{nominee: p, what: nominates, pod: p.pod}
	}
	return nil
}

// finish follows the end of a write.
func (n *Nominator) finish(w *write, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.course.wrote(w, err)
	n.inbox.ring()
}
