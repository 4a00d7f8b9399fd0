package executor

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/cluster"
	"muster.dev/muster/rescheduler/evictions"
)

// mostDoublings bounds how long a controller cools down whose replacements differ from the pods that were evicted.
const mostDoublings = 6

// Cooling says what no plan touches for a time after evictions.
type Cooling struct {
	nodes       map[string]time.Time // until when
	controllers map[types.UID]time.Time
}

// Cooling returns the nodes and controllers that these evictions leave alone for a time. A controller cools
// down for twice as long for each eviction in vain, whose replacement was of another kind and did not fit the
// room. Another plan would fail for the same reason, until all pods are as the controller would make them.
func (l *Limits) Cooling(past []evictions.Eviction) *Cooling {
	c := &Cooling{map[string]time.Time{}, map[types.UID]time.Time{}}
	inVain := map[types.UID]int{}
	for i := range past {
		if past[i].Differs {
			inVain[past[i].Controller]++
		}
	}
	for i := range past {
		e := &past[i]
		c.nodes[e.Node] = later(c.nodes[e.Node], e.At.Add(l.NodeCoolDown))
		coolDown := l.WorkloadCoolDown << min(inVain[e.Controller], mostDoublings)
		c.controllers[e.Controller] = later(c.controllers[e.Controller], e.At.Add(coolDown))
	}
	return c
}

// Node reports whether a node cools down.
func (c *Cooling) Node(name string, now time.Time) bool { return now.Before(c.nodes[name]) }

// Controller reports whether the controller of that UID cools down.
func (c *Cooling) Controller(uid types.UID, now time.Time) bool {
	return now.Before(c.controllers[uid])
}

// Why returns the reason why no plan should move a pod on a node at present, "" when it may: a constant.
func (c *Cooling) Why(pod *cluster.Pod, node string, now time.Time) string {
	if c.Node(node, now) {
		return "its node cools down after an eviction"
	}
	if owner := metav1.GetControllerOfNoCopy(pod.Pod); owner != nil && c.Controller(owner.UID, now) {
		return "its controller cools down after an eviction"
	}
	return ""
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
