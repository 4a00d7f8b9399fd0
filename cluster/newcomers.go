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

// forget takes a pod out of a map. A map keeps the size that it once had, so that an empty one is made anew.
func forget(from *map[types.UID]newcomer, uid types.UID) {
	if _, there := (*from)[uid]; !there {
		return
	}
	if delete(*from, uid); len(*from) == 0 {
		*from = map[types.UID]newcomer{}
	}
}

// Came is how many pods have come to wait so far. See [Cluster.Untried].
func (c *Cluster) Came() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waiting.newcomers.came
}

// Untried reports whether the scheduler of a name has yet to decide about one of the first so many pods that came to
// wait: the watch shows none of bound, refused, nominated or gone. It may have chosen a node for such a pod, by what it
// knew then, and not have said so. Pods that came before since do not count: nobody may be there to try them.
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

// Waits reports whether one of the first so many pods that came to wait does so still, for whichever scheduler. If none
// does, the watch has shown what became of each: nothing is left that anybody could put on a node by what was known
// when they were so many.
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
