package extender

import (
	"errors"
	"slices"

	"github.com/go-faster/jx"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement"
	"muster.dev/muster/predicates"
	"muster.dev/muster/server/wire"
)

// picker picks nodes for pods, and writes what filter answers.
type picker struct {
	cluster *cluster.Cluster
	// offers are filter's answers about pods that are not bound yet.
	offers *offers
	// pick breaks ties: it returns a number from 0 to n-1.
	pick func(n int) int
}

// answer answers about a pod for itself. The scheduler asks again, so any former decision about the pod is
// void, except as advice. A pod that counts on a node counts on until it is decided.
func (p *picker) answer(c *call) error {
	pod := c.subject.pod
	if !c.picksNode() {
		p.cluster.Release(pod.UID)
		view := c.store.View(pod)
		defer view.Close()
		if only := p.sift(c, &view); only >= 0 { // kube-scheduler does not call prioritize
			p.expect(c, view.Snapshot.Node(only))
		}
		p.offers.put(pod.UID, view.Snapshot.Generation, c.fitting)
		return nil
	}
	node, err := p.choose(c)
	if node == "" {
		p.cluster.Release(pod.UID)
	}
	return err
}

// answerPlanned answers with one node, the planned one if it will do, and says which; "" when
// there is none. The pod counts there, and on its former place until then: nobody can take its
// room in between.
func (p *picker) answerPlanned(c *call, planned string) (node string, err error) {
	if done, err := p.confirm(c, planned); done {
		return planned, err
	}
	return p.choose(c)
}

// judge returns the verdicts of the call's profile on its pod as if the pod counted nowhere yet, while it
// counts on.
func (p *picker) judge(c *call) predicates.View {
	return c.store.ViewWithout(c.subject.pod, p.cluster.Assumed(c.subject.pod.UID))
}

// choose answers with the best candidate that fits, and assumes the pod there at
// once, so that the next call counts it. It says which; "" when there is none.
func (p *picker) choose(c *call) (node string, err error) {
	found, err := p.assume(c, p.bestNow)
	switch {
	case err == nil:
		p.offer(c, found)
		return found.on.Node.Name, nil
	case errors.Is(err, errNoCandidate):
		return "", nil
	case errors.Is(err, c.ctx.Err()):
		return "", err
	}
	c.outcome = outcomeError
	wire.FilterError(&c.reply, err.Error())
	return "", nil
}

// assume has the pod of a call count on the candidate that is found for it, and returns the candidate.
func (p *picker) assume(c *call, find func(*call) (candidate, bool)) (found candidate, err error) {
	err = c.count(p.cluster, func() (on cluster.Basis, err error) {
		var ok bool
		if found, ok = find(c); !ok {
			return on, errNoCandidate
		}
		return found.on, nil
	})
	return found, err
}

var errNoCandidate = errors.New("no candidate will do")

// candidate is one of a request that fits, as it was judged on a snapshot.
type candidate struct {
	at   int // where it stands in the request
	on   cluster.Basis
	snap *cluster.Snapshot
}

// bestNow returns the best candidate. When none fits it answers so, and says false.
func (p *picker) bestNow(c *call) (best candidate, ok bool) {
	view := p.judge(c)
	defer view.Close()
	at, index := p.best(c, &view)
	if at < 0 {
		reply := newFilterReply(c)
		c.reject(&reply, &view)
		return candidate{}, false
	}
	return candidate{at, view.Basis(index), view.Snapshot}, true
}

// confirm answers with the node that was planned for the pod ahead of the call, and
// assumes the pod there again, if it is among the candidates and the pod still fits it.
// kube-scheduler asks about that node alone once it knows of the nomination. It says
// false when there is nothing to confirm.
func (p *picker) confirm(c *call, planned string) (done bool, err error) {
	if planned == "" {
		return false, nil
	}
	if c.ctx.Err() != nil {
		return true, c.ctx.Err()
	}
	found, err := p.assume(c, func(c *call) (candidate, bool) { return p.named(c, planned) })
	switch {
	case err == nil:
		p.offer(c, found)
		return true, nil
	case errors.Is(err, c.ctx.Err()):
		return true, err
	}
	return false, nil // choose will say why
}

// named returns the candidate of a name; it says false when there is none that fits.
func (p *picker) named(c *call, node string) (found candidate, ok bool) {
	view := p.judge(c)
	defer view.Close()
	n := view.Snapshot.NodeByName(node)
	if n == nil || c.verdict(&view, n.Index) != predicates.Fits {
		return candidate{}, false
	}
	at := slices.Index(c.candidates.in(view.Snapshot), n.Index)
	return candidate{at, view.Basis(n.Index), view.Snapshot}, at >= 0
}

// offer answers with one candidate, and notes that the pod may be bound there as it was judged.
func (p *picker) offer(c *call, found candidate) {
	node := found.on.Node.Index
	reply := newFilterReply(c)
	reply.Accept(accepted(c, found.at, node))
	reply.End()
	p.offers.put(c.subject.pod.UID, found.snap.Generation, []int32{node})
}

// best returns the candidate with the highest total among the ones that fit: where it stands in the request,
// and its index; -1 when there is none. It notes in c.rejected the candidates that do not fit.
//
// Of several, it is the one with the least [placement.Misfit]. Among several still, it is one at random, as in
// kube-scheduler.
func (p *picker) best(c *call, view *predicates.View) (at int, best int32) {
	c.judge(view)
	at, best = -1, -1
	var highest int64
	var least float64
	ties := 0
	for i, total := range c.rank(view, c.fitting) {
		index := c.fitting[i]
		if best >= 0 && total < highest {
			continue
		}
		misfit := placement.Misfit(c.subject.pod, view.Node(index))
		switch {
		case best < 0 || total > highest || misfit < least:
			at, best, highest, least, ties = c.places[i], index, total, misfit, 1
		case misfit == least:
			if ties++; p.pick(ties) == 0 {
				at, best = c.places[i], index
			}
		}
	}
	return at, best
}

// offerBest answers with the best candidate, and keeps nothing of it.
func (p *picker) offerBest(c *call, view *predicates.View) {
	at, index := p.best(c, view)
	reply := newFilterReply(c)
	if at < 0 {
		c.reject(&reply, view)
		return
	}
	reply.Accept(accepted(c, at, index))
	reply.End()
}

// sift answers with the candidates that fit, or the best of them where the profile has a shortlist, and notes them in
// c.fitting. If there is just one, it says which; else -1.
func (p *picker) sift(c *call, view *predicates.View) (only int32) {
	c.judge(view)
	p.shorten(c, view)
	reply := newFilterReply(c)
	for i, index := range c.fitting {
		reply.Accept(accepted(c, c.places[i], index))
	}
	c.reject(&reply, view)
	if len(c.fitting) == 1 {
		return c.fitting[0]
	}
	return -1
}

// refuse answers with no node, for one reason.
func (p *picker) refuse(c *call, reason string) {
	reply := newFilterReply(c)
	var unknown jx.Writer
	for _, index := range c.candidates.in(p.cluster.Snapshot()) {
		reply.Reject(c.candidates.quoted(index, &unknown), reason)
	}
	reply.End()
	c.outcome = outcomeUnschedulable
}

// avoid notes in the call which nodes plans of the rescheduler keep a pod away from.
func (p *picker) avoid(c *call, names sets.Set[string]) {
	c.left = c.left[:0]
	for name := range names {
		if node := p.cluster.Snapshot().NodeByName(name); node != nil {
			c.left = append(c.left, node.Index)
		}
	}
}
