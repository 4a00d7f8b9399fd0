package server

import (
	"errors"
	"slices"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement"
	"muster.dev/muster/predicates"
	"muster.dev/muster/server/wire"
)

// choose answers with the best candidate that fits, and assumes the pod there at
// once, so that the next call counts it. It says which; "" when there is none.
func (e *Extender) choose(c *call, profile *predicates.VerdictStore, pod *cluster.Pod) (node string, err error) {
	for {
		view := e.judge(profile, pod)
		at, index := e.best(c, &view, pod)
		reply := newFilterReply(c)
		if at < 0 {
			e.reject(c, &reply, &view)
			view.Close()
			return "", nil
		}
		snap := view.Snapshot
		view.Close()
		node := snap.Node(index)
		switch err := e.cluster.Assume(pod, node); {
		case err == nil:
			e.offer(c, &reply, at, pod, node, snap)
			return node.Name, nil
		case !errors.Is(err, cluster.ErrNodeChanged):
			c.reply.Reset()
			c.outcome = outcomeError
			wire.FilterError(&c.reply, err.Error())
			return "", nil
		case c.ctx.Err() != nil:
			return "", c.ctx.Err()
		}
		c.reply.Reset()
	}
}

// offer answers with one node, the candidate at a place of the request, and notes that the pod may be
// bound there as it was judged on a snapshot.
func (e *Extender) offer(c *call, reply *wire.FilterReply, at int, pod *cluster.Pod, node *cluster.Node, snap *cluster.Snapshot) {
	reply.Accept(accepted(c, at, node.Index))
	reply.End()
	e.offers.put(pod.UID, snap.Generation, []int32{node.Index})
}

// confirm answers with the node that was planned for the pod ahead of the call, and
// assumes the pod there again, if it is among the candidates and the pod still fits it.
// kube-scheduler asks about that node alone once it knows of the nomination. It says
// false when there is nothing to confirm.
func (e *Extender) confirm(c *call, profile *predicates.VerdictStore, pod *cluster.Pod, planned string) (done bool, err error) {
	if planned == "" {
		return false, nil
	}
	for c.ctx.Err() == nil {
		view := e.judge(profile, pod)
		snap := view.Snapshot
		node := snap.NodeByName(planned)
		at := -1
		if node != nil && c.verdict(&view, node.Index) == predicates.Fits {
			at = slices.Index(c.candidates.in(snap), node.Index)
		}
		view.Close()
		if at < 0 {
			return false, nil
		}
		switch err := e.cluster.Assume(pod, node); {
		case err == nil:
			reply := newFilterReply(c)
			e.offer(c, &reply, at, pod, node, snap)
			return true, nil
		case !errors.Is(err, cluster.ErrNodeChanged):
			return false, nil // as choose will say
		}
	}
	return true, c.ctx.Err()
}

// stay answers with the node to which the pod may be bound any moment, by a call whose answer
// the scheduler has not got: to bind it there once more shows what became of it. If
// that node is not among the candidates, the pod has to wait until this is known.
func (e *Extender) stay(c *call, pod *cluster.Pod, node string) {
	snap := e.cluster.Snapshot()
	if on := snap.NodeByName(node); on != nil {
		if at := slices.Index(c.candidates.in(snap), on.Index); at >= 0 {
			reply := newFilterReply(c)
			e.offer(c, &reply, at, pod, on, snap)
			return
		}
	}
	e.refuse(c, reasonBinding)
}

// reasonBinding is why a pod gets no node for now.
const reasonBinding = "the pod is being bound to another node"

// best is the candidate with the highest total among those that fit: where it stands in the request,
// and its index; -1 when there is none. It notes in c.rejected those that do not fit.
//
// Of several, it is the one with the least [placement.Misfit]. Of several still, it is
// one at random, as in kube-scheduler.
func (e *Extender) best(c *call, view *predicates.View, pod *cluster.Pod) (at int, best int32) {
	c.rejected, c.fitting, c.places = c.rejected[:0], c.fitting[:0], c.places[:0]
	for i, index := range c.candidates.in(view.Snapshot) {
		if verdict := c.verdict(view, index); verdict != predicates.Fits {
			c.rejected = append(c.rejected, rejection{index, verdict})
			continue
		}
		c.fitting, c.places = append(c.fitting, index), append(c.places, i)
	}
	at, best = -1, -1
	var highest int64
	var least float64
	ties := 0
	for i, total := range c.rank(view, c.fitting) {
		index := c.fitting[i]
		if best >= 0 && total < highest {
			continue
		}
		misfit := placement.Misfit(pod, view.Node(index))
		switch {
		case best < 0 || total > highest || misfit < least:
			at, best, highest, least, ties = c.places[i], index, total, misfit, 1
		case misfit == least:
			if ties++; e.pick(ties) == 0 {
				at, best = c.places[i], index
			}
		}
	}
	return at, best
}

// rank returns the totals of nodes, in memory that the next ranking of the call uses
// again.
func (c *call) rank(view *predicates.View, nodes []int32) []int64 {
	c.totals = slices.Grow(c.totals[:0], len(nodes))[:len(nodes)]
	view.Rank(nodes, c.totals)
	return c.totals
}
