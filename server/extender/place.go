package extender

import (
	"fmt"

	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// mostJudgements is how often a pod is judged in one bind call, as what it was judged on keeps changing.
const mostJudgements = 20

// takePlace has the pod count on the node from here on, if it may be bound there. A pod that may not be counts
// there no more.
func (b *pods) takePlace(c *call) error {
	if c.store == nil {
		return errNoProfile
	}
	pod := c.subject.pod
	offered, asked := b.offers.of(pod.UID)
	if !asked {
		return errNotAsked
	}
	if b.stands(c, &offered) {
		return nil
	}
	err := b.flights.judge(func() error { return b.judgeAndCount(c, &offered) })
	if err != nil && b.cluster.Assumed(pod.UID) == c.node {
		b.cluster.Release(pod.UID)
	}
	return err
}

// stands reports whether the pod of a call counts on the node as it was offered. Then there is nothing to judge
// if new assumptions alone have changed the cluster since: every pod judged after this one was judged with this
// one counted.
func (b *pods) stands(c *call, offered *offer) bool {
	if b.cluster.Assumed(c.subject.pod.UID) != c.node {
		return false
	}
	snap := b.cluster.Snapshot()
	_, err := offered.node(c.node, snap)
	return err == nil && snap.Unforeseen <= offered.generation
}

// judgeAndCount has the pod of a call count on the node in the state in which it fits.
func (b *pods) judgeAndCount(c *call, offered *offer) error {
	b.reserved.avoid(c)
	judgements := 0
	return c.count(b.cluster, func() (on cluster.Basis, err error) {
		if judgements++; judgements > mostJudgements {
			return on, errRestless
		}
		return b.judge(c, offered)
	})
}

// judge says on what the pod of a call fits the node now, as if it counted nowhere yet.
func (b *pods) judge(c *call, offered *offer) (on cluster.Basis, err error) {
	pod := c.subject.pod
	if _, err := offered.node(c.node, b.cluster.Snapshot()); err != nil {
		return on, err
	}
	assumed := b.cluster.Assumed(pod.UID)
	if assumed != "" && assumed != c.node {
		return on, fmt.Errorf("the pod counts on node %s, which is its place or to which it may have been bound already", assumed)
	}
	b.cluster.Unexpect(pod.UID) // it is not in its own way
	view := c.store.ViewWithout(pod, assumed)
	defer view.Close()
	node, err := offered.node(c.node, view.Snapshot)
	if err != nil {
		return on, err
	}
	switch verdict := c.verdict(&view, node.Index); {
	case verdict == predicates.Fits:
		return view.Basis(node.Index), nil
	case keepsRoom(c, node, view.Snapshot):
		return on, fmt.Errorf("the room on node %s is kept for a pod that a ReschedulingPlan moves", c.node)
	default:
		return on, fmt.Errorf("the pod does not fit on node %s any more: %s", c.node, view.Reason(verdict))
	}
}
