package cluster

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// untried are the pods about which their scheduler has yet to say something, numbered in the order in which they came.
type untried struct {
	came uint64 // how many have
	pods map[types.UID]untriedPod
}

// untriedPod is one of them.
type untriedPod struct {
	number        uint64 // from 1 on
	at            time.Time
	schedulerName string
}

// follow takes in what the watch shows of a pod that has no node; nil when it has one, or is gone.
func (u *untried) follow(uid types.UID, pod *Pod, now time.Time) {
	_, known := u.pods[uid]
	switch {
	case pod == nil || !waits(pod.Pod) || pod.Tried() || pod.Status.NominatedNodeName != "":
		delete(u.pods, uid)
		if known && len(u.pods) == 0 { // a map keeps the size that it once had
			u.pods = map[types.UID]untriedPod{}
		}
	case !known:
		u.came++
		u.pods[uid] = untriedPod{u.came, now, pod.Spec.SchedulerName}
	}
}

// Came is how many pods have come to wait so far. See [Cluster.Untried].
func (c *Cluster) Came() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waiting.untried.came
}

// Untried reports whether the scheduler of a name has yet to decide about one of the first so many pods that came to
// wait: the watch shows none of bound, refused, nominated or gone. It may have chosen a node for such a pod, by what it
// knew then, and not have said so. Pods that came before since do not count: nobody may be there to try them.
func (c *Cluster) Untried(schedulerName string, first uint64, since time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, pod := range c.waiting.untried.pods {
		if pod.number <= first && pod.schedulerName == schedulerName && !pod.at.Before(since) {
			return true
		}
	}
	return false
}
