package extender

import (
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/lru"

	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// maxOffers bounds how many pods may be between filter and the end of bind. One whose offer is
// forgotten is not bound, and tried again.
const maxOffers = 50_000

// offers are the nodes that filter has offered for pods: bind binds a pod to no other one. It is safe
// for concurrent use.
type offers struct {
	mu    sync.Mutex
	byPod *lru.Cache // of types.UID → offer
}

// offer is the nodes on which a pod fitted, as judged at a generation of the cluster.
type offer struct {
	generation uint64
	few        []int32  // indexes of the nodes, ascending, or
	many       []uint64 // bit i stands for the node under index i
}

func newOffers() *offers { return &offers{byPod: lru.New(maxOffers)} }

// put notes an offer in the place of the one before. The indexes may be in any order.
func (o *offers) put(pod types.UID, generation uint64, nodes []int32) {
	offered := newOffer(generation, nodes)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.byPod.Add(pod, offered)
}

// newOffer takes the form that is smaller.
func newOffer(generation uint64, nodes []int32) offer {
	o := offer{generation: generation}
	if len(nodes) == 0 {
		return o
	}
	if words := int(slices.Max(nodes))/64 + 1; len(nodes) > 2*words {
		o.many = make([]uint64, words)
		for _, index := range nodes {
			o.many[index/64] |= 1 << (index % 64)
		}
		return o
	}
	o.few = slices.Clone(nodes)
	slices.Sort(o.few)
	return o
}

// of returns the last offer for a pod; false when there is none.
func (o *offers) of(pod types.UID) (offer, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	found, ok := o.byPod.Get(pod)
	if !ok {
		return offer{}, false
	}
	return found.(offer), true
}

// end forgets the offer for a pod.
func (o *offers) end(pod types.UID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.byPod.Remove(pod)
}

// node returns the node of a name, if it was offered.
func (o *offer) node(name string, snap *cluster.Snapshot) (*cluster.Node, error) {
	node := snap.NodeByName(name)
	switch {
	case node == nil:
		return nil, errNodeGone
	case !o.includes(node):
		return nil, errNotAsked
	default:
		return node, nil
	}
}

// includes reports whether a node was offered. One that joined since is another one, though it may have the
// name or the index of one that was.
func (o *offer) includes(node *cluster.Node) bool {
	if node.Joined > o.generation {
		return false
	}
	if _, is := slices.BinarySearch(o.few, node.Index); is {
		return true
	}
	word := int(node.Index / 64)
	return word < len(o.many) && o.many[word]&(1<<(node.Index%64)) != 0
}

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
