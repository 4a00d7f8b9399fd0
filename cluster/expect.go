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
	c.unexpect(pod.UID, node)
	on := c.node(node)
	if _, placed := c.placed[pod.UID]; placed || on == nil {
		return
	}
	next := *on
	next.Expected = append(slices.Clip(on.Expected), pod)
	c.replace(&next, AspectExpected)
	e := &expectation{pod: pod, node: node}
	c.expected[pod.UID] = e
	e.timer = c.clock.AfterFunc(c.assumeTTL, func() { c.disappoint(e) })
}

// Unexpect ends the expectation about a pod, if there is one.
func (c *Cluster) Unexpect(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unexpect(uid, "")
}

// disappoint ends an expectation of which nothing came in time.
func (c *Cluster) disappoint(e *expectation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.expected[e.pod.UID] == e {
		c.unexpect(e.pod.UID, "")
	}
}

// unexpect is Unexpect for who holds the lock, of a pod that comes to a node, "" for none.
func (c *Cluster) unexpect(uid types.UID, comesTo string) {
	e := c.expected[uid]
	if e == nil {
		return
	}
	e.timer.Stop()
	delete(c.expected, uid)
	on := c.node(e.node)
	if on == nil || !slices.Contains(on.Expected, e.pod) {
		return // the node went meanwhile, and may have come again
	}
	next := *on
	next.Expected = slices.DeleteFunc(slices.Clone(on.Expected), func(p *Pod) bool { return p == e.pod })
	c.replace(&next, AspectExpected)
	if e.node != comesTo {
		c.freed = c.generation
	}
}
