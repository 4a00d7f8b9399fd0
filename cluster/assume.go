package cluster

import (
	"errors"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

var (
	// ErrNodeChanged says that a node is no longer in the state on which a
	// decision was made: decide again on a new snapshot.
	ErrNodeChanged = errors.New("the node changed since the decision")
	// ErrPodPlaced says that the watch has shown the pod on a node already.
	ErrPodPlaced = errors.New("the pod is on a node already")
)

// What became of an assumption.
const (
	outcomeConfirmed = "confirmed" // the watch shows the pod on that node
	outcomeRefuted   = "refuted"   // the watch shows it elsewhere, finished or gone
	outcomeReleased  = "released"  // muster took it back
	outcomeExpired   = "expired"   // the watch said nothing in time
)

// assumption is a pod that counts on a node before the watch has shown it there.
type assumption struct {
	node    string
	expires time.Time
	timer   clock.Timer
}

// Assume makes a pod count on a node from now on, provided that the node is
// still in the state given, else it returns ErrNodeChanged. So of two decisions
// made on one state only one succeeds. An earlier assumption about the pod ends.
// It returns ErrPodPlaced when the pod is known to be bound.
func (c *Cluster) Assume(pod *Pod, on *Node) error { return c.AssumeAll([]*Pod{pod}, on) }

// AssumeAll is Assume for pods that were given their place on one node together:
// either all of them count there afterwards, or nothing has changed.
func (c *Cluster) AssumeAll(pods []*Pod, on *Node) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.assumeAll(pods, on)
}

func (c *Cluster) assumeAll(pods []*Pod, on *Node) error {
	for _, pod := range pods {
		_, assumed := c.assumed[pod.UID]
		if _, placed := c.placed[pod.UID]; placed && !assumed {
			return ErrPodPlaced
		}
	}
	if c.nodes.at(on.Index) != on {
		return ErrNodeChanged
	}
	for _, pod := range pods {
		c.settle(pod.UID, outcomeReleased)
		c.put(pod, on.Name)
		a := &assumption{node: on.Name, expires: c.clock.Now().Add(c.assumeTTL)}
		c.assumed[pod.UID] = a
		a.timer = c.clock.AfterFunc(c.assumeTTL, func() { c.expire(pod, a) })
	}
	return nil
}

// Assumed is the node on which a pod is assumed, "" when it is not.
func (c *Cluster) Assumed(uid types.UID) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.assumed[uid]; a != nil {
		return a.node
	}
	return ""
}

// Renew lets an assumption live for another full term from now: the pod was
// bound, and the watch is about to say so. It says false when there is none.
func (c *Cluster) Renew(uid types.UID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.assumed[uid]
	if a == nil {
		return false
	}
	a.expires = c.clock.Now().Add(c.assumeTTL)
	a.timer.Reset(c.assumeTTL)
	return true
}

// Release ends an assumption: the pod no longer counts on the node, and is expected on
// none. It does nothing to any other pod.
func (c *Cluster) Release(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unexpect(uid, "")
	if _, ok := c.assumed[uid]; ok {
		c.settle(uid, outcomeReleased)
		c.take(uid)
	}
}

func (c *Cluster) expire(pod *Pod, a *assumption) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.assumed[pod.UID] != a || c.clock.Now().Before(a.expires) {
		return // settled or renewed just when the timer fired
	}
	c.settle(pod.UID, outcomeExpired)
	c.take(pod.UID)
	c.log.Warn("assumed pod expired", slog.String("pod", pod.Namespace+"/"+pod.Name), slog.String("node", a.node))
}

// settle takes a pod off the list of assumed ones, wherever it counts.
func (c *Cluster) settle(uid types.UID, outcome string) {
	a := c.assumed[uid]
	if a == nil {
		return
	}
	a.timer.Stop()
	delete(c.assumed, uid)
	c.metrics.assumed.WithLabelValues(outcome).Inc()
}
