package cluster

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// newcomers are the pods that wait for a scheduler, numbered in the order in which they came.
type newcomers struct {
	came    uint64                 // how many have
	untried map[types.UID]newcomer // about which their scheduler has yet to say something
	tried   map[types.UID]newcomer // which wait all the same
}

// newcomer is a pod that came to wait.
type newcomer struct {
	number        uint64 // from 1 on
	at            time.Time
	schedulerName string
}

func noNewcomers() newcomers {
	return newcomers{untried: map[types.UID]newcomer{}, tried: map[types.UID]newcomer{}}
}

// follow takes in what the watch shows of a pod that has no node; nil when it has one, or is gone.
func (n *newcomers) follow(uid types.UID, pod *Pod, now time.Time) {
	one, known := n.untried[uid]
	if !known {
		one, known = n.tried[uid]
	}
	if pod == nil || !waits(pod.Pod) {
		forget(&n.untried, uid)
		forget(&n.tried, uid)
		return
	}
	if !known {
		n.came++
		one = newcomer{n.came, now, pod.Spec.SchedulerName}
	}
	if pod.Tried() || pod.Status.NominatedNodeName != "" {
		forget(&n.untried, uid)
		n.tried[uid] = one
	} else if _, tried := n.tried[uid]; !tried {
		n.untried[uid] = one
	}
}

// forget takes a pod out of a map. It replaces an emptied map by a new one, because a map never shrinks.
func forget(from *map[types.UID]newcomer, uid types.UID) {
	if _, there := (*from)[uid]; !there {
		return
	}
	if delete(*from, uid); len(*from) == 0 {
		*from = map[types.UID]newcomer{}
	}
}

// Came returns how many pods have come to wait so far. See [Cluster.Untried].
func (c *Cluster) Came() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waiting.newcomers.came
}

// Untried reports whether the scheduler of a name has yet to decide about one of the pods that came to wait up
// to a count: the watch shows the pod neither bound, refused, nominated nor gone. The scheduler may have chosen
// a node for such a pod, by the state that it knew then, without having said so. Pods that came before since do
// not count: perhaps no scheduler is there to try them.
func (c *Cluster) Untried(schedulerName string, first uint64, since time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, pod := range c.waiting.newcomers.untried {
		if pod.number <= first && pod.schedulerName == schedulerName && !pod.at.Before(since) {
			return true
		}
	}
	return false
}

// Waits reports whether one of the pods that came to wait up to a count still waits, for any scheduler. If none
// does, the watch has shown the fate of each, and no scheduler can still place one of them by the state known
// at that count.
func (c *Cluster) Waits(first uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, pods := range []map[types.UID]newcomer{c.waiting.newcomers.untried, c.waiting.newcomers.tried} {
		for _, pod := range pods {
			if pod.number <= first {
				return true
			}
		}
	}
	return false
}
