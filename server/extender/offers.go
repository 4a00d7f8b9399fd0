package extender

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	"muster.dev/muster/cluster"
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
