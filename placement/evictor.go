package placement

import (
	"time"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement/scenario"
)

// evictor knows for pods of one kind what room on every node would cost.
type evictor struct {
	judge  *scenario.Judge
	seen   int     // how many of the changed nodes the offers know
	offers []offer // by node index
	made   int     // how many moves there were when all offers were made
}

// offer is room on a node.
type offer struct {
	cost    cost
	victims []*evictee // nil when there is no offer
}

// evictor returns the evictor for pods of the same kind, as planned so far.
func (e *Evictions) evictor(pod *cluster.Pod) *evictor {
	kind := e.plan.kinds.of(pod)
	k := e.kinds[kind]
	if k == nil {
		k = &evictor{judge: e.plan.Judge(e.plan.store.Profile.Judge(pod, e.plan.Snapshot())), made: -1}
		e.kinds[kind] = k
	}
	return k
}

// cheapest returns the node with the best offer, and the pods that have to go from there; -1 when there is
// none.
//
// A change of one node may turn offers of others, if predicates span nodes. So the best offer is looked at
// again before it is taken, and all are when there is none.
func (k *evictor) cheapest(e *Evictions, deadline time.Time) (index int32, victims []*evictee) {
	if k.offers == nil {
		k.makeAll(e, deadline)
	}
	for _, index := range e.changed[k.seen:] {
		k.offers[index] = k.offer(e, index)
	}
	k.seen = len(e.changed)
	for !e.plan.past(deadline) {
		best := k.best()
		if best < 0 {
			if k.made == e.plan.Moves() {
				break
			}
			k.makeAll(e, deadline)
			continue
		}
		before := k.offers[best]
		k.offers[best] = k.offer(e, best)
		if now := k.offers[best]; now.victims != nil && now.cost == before.cost {
			return best, now.victims
		}
	}
	return -1, nil
}

func (k *evictor) makeAll(e *Evictions, deadline time.Time) {
	k.offers = make([]offer, e.plan.Snapshot().IndexEnd())
	k.made, k.seen = e.plan.Moves(), len(e.changed)
	for node := range e.plan.Snapshot().Nodes() {
		if e.plan.past(deadline) {
			return
		}
		k.offers[node.Index] = k.offer(e, node.Index)
	}
}

// best returns the node with the cheapest offer, -1 when there is none.
func (k *evictor) best() int32 {
	best := -1
	for i := range k.offers {
		if k.offers[i].victims != nil && (best < 0 || k.offers[i].cost.compare(&k.offers[best].cost) < 0) {
			best = i
		}
	}
	return int32(best)
}

// offer returns the cheapest set of evictions on a node that makes room there.
func (k *evictor) offer(e *Evictions, index int32) offer {
	var all []*evictee
	for _, v := range e.on(index) {
		if !v.gone {
			all = append(all, v)
		}
	}
	if e.plan.avoided[index] {
		return offer{}
	}
	victims := choose(k.judge.FitsIn, e.plan.Node(index), all)
	return offer{costOf(victims), victims}
}

// choose takes all pods that may be evicted away from a node, then gives back all that still fit, the dearest
// ones first (SelectVictimsOnNode in pkg/scheduler/framework/plugins/defaultpreemption). It returns the pods
// that have to go so that one more pod fits, nil when that pod does not fit even without all of them.
func choose(fits func(*cluster.Node) bool, node *cluster.Node, all []*evictee) (victims []*evictee) {
	freed := node
	for _, v := range all {
		freed = freed.WithoutPod(v.pod.UID)
	}
	if len(all) == 0 || !fits(freed) {
		return nil
	}
	for _, v := range dearestFirst(all) {
		if back := freed.WithPod(v.pod); fits(back) {
			freed = back
		} else {
			victims = append(victims, v)
		}
	}
	return victims
}
