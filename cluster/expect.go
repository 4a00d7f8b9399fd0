package cluster

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// expectation is a pod that kube-scheduler is about to put on a node.
type expectation struct {
	pod   *Pod
	node  string
	timer clock.Timer
}

// Expect notes that a pod is likely to come to a node, in [Node.Expected]: kube-scheduler was
// told what suits the pod, and decides. An earlier expectation about the pod ends. One ends as
// well when the pod is assumed, is seen on a node or goes, when it is released, and when
// nothing is heard of the pod for as long as an assumption lives. It does nothing to a pod
// that counts on a node already.
func (c *Cluster) Expect(pod *Pod, node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ledger.expect(pod, node)
}

func (l *ledger) expect(pod *Pod, node string) {
	l.unexpect(pod.UID, node)
	on := l.node(node)
	if _, placed := l.placed[pod.UID]; placed || on == nil {
		return
	}
	next := *on
	next.Expected = append(slices.Clip(on.Expected), pod)
	l.replace(&next, AspectExpected)
	e := &expectation{pod: pod, node: node}
	l.expected[pod.UID] = e
	e.timer = l.clock.AfterFunc(l.term, func() { l.disappoint(e) })
}

// Unexpect ends the expectation about a pod, if there is one.
func (c *Cluster) Unexpect(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ledger.unexpect(uid, "")
}

// disappoint ends an expectation that was not met in time.
func (l *ledger) disappoint(e *expectation) {
	l.lock.Lock()
	defer l.lock.Unlock()
	if l.expected[e.pod.UID] == e {
		l.unexpect(e.pod.UID, "")
	}
}

// unexpect ends the expectation about a pod that comes to a node, "" for none.
func (l *ledger) unexpect(uid types.UID, comesTo string) {
	e := l.expected[uid]
	if e == nil {
		return
	}
	e.timer.Stop()
	delete(l.expected, uid)
	on := l.node(e.node)
	if on == nil || !slices.Contains(on.Expected, e.pod) {
		return // the node went meanwhile, and may have come again
	}
	next := *on
	next.Expected = slices.DeleteFunc(slices.Clone(on.Expected), func(p *Pod) bool { return p == e.pod })
	l.replace(&next, AspectExpected)
	if e.node != comesTo {
		l.markFreed()
	}
}
