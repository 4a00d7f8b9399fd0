package extender

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// mostJudgements is how often a pod is judged in one bind call, as what it was judged on keeps changing.
const mostJudgements = 20

// takePlace has the pod of a bind call count on the node from here on, if it may be bound there. A pod that may not be
// counts there no more.
func (b *pods) takePlace(q *request, about subject) error {
	if about.store == nil {
		return errNoProfile
	}
	uid := about.pod.UID
	offered, asked := b.offers.of(uid)
	if !asked {
		return errNotAsked
	}
	if b.stands(uid, q.node, &offered) {
		return nil
	}
	err := b.flights.judge(func() error { return b.judgeAndCount(q, about, &offered) })
	if err != nil && b.cluster.Assumed(uid) == q.node {
		b.cluster.Release(uid)
	}
	return err
}

// stands reports whether a pod counts on a node as it was offered. Then there is nothing to judge
// if new assumptions alone have changed the cluster since: every pod judged after this one was judged with this
// one counted.
func (b *pods) stands(uid types.UID, on string, offered *offer) bool {
	if b.cluster.Assumed(uid) != on {
		return false
	}
	snap := b.cluster.Snapshot()
	_, err := offered.node(on, snap)
	return err == nil && snap.Unforeseen <= offered.generation
}

// judgeAndCount has the pod of a bind call count on the node in the state in which it fits.
func (b *pods) judgeAndCount(q *request, about subject, offered *offer) error {
	left := b.reservations.LeftBy(about.pod)
	judgements := 0
	return count(q.ctx, b.cluster, about.pod, func(pod *cluster.Pod) (on cluster.Basis, err error) {
		if judgements++; judgements > mostJudgements {
			return on, errRestless
		}
		return b.judge(pod, about.store, q.node, offered, left)
	})
}

// judge says on what a pod fits a node now, as if it counted nowhere yet.
func (b *pods) judge(
	pod *cluster.Pod, by *predicates.VerdictStore, name string, offered *offer, left sets.Set[string],
) (on cluster.Basis, err error) {
	if _, err := offered.node(name, b.cluster.Snapshot()); err != nil {
		return on, err
	}
	assumed := b.cluster.Assumed(pod.UID)
	if assumed != "" && assumed != name {
		return on, fmt.Errorf("the pod counts on node %s, which is its place or to which it may have been bound already", assumed)
	}
	b.cluster.Unexpect(pod.UID) // it is not in its own way
	view := by.ViewWithout(pod, assumed)
	defer view.Close()
	node, err := offered.node(name, view.Snapshot)
	if err != nil {
		return on, err
	}
	switch verdict := verdict(&view, node.Index, left); {
	case verdict == predicates.Fits:
		return view.Basis(node.Index), nil
	case keepsRoom(pod, by.Profile, node, view.Snapshot):
		return on, fmt.Errorf("the room on node %s is kept for a pod that a ReschedulingPlan moves", name)
	default:
		return on, fmt.Errorf("the pod does not fit on node %s any more: %s", name, view.Reason(verdict))
	}
}
