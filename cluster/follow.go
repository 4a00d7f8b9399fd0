package cluster

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// followers are functions that are told of events, while the cluster is locked.
type followers[Event any] []*func(Event)

func (f *followers[Event]) tell(event Event) {
	for _, follow := range *f {
		(*follow)(event)
	}
}

// add adds a function, and returns what takes it off again. The caller of add holds the
// lock.
func (f *followers[Event]) add(lock sync.Locker, follow func(Event)) (stop func()) {
	follower := &follow
	*f = append(*f, follower)
	return func() {
		lock.Lock()
		defer lock.Unlock()
		*f = slices.DeleteFunc(slices.Clone(*f), func(other *func(Event)) bool { return other == follower })
	}
}

// PodState is the state of a pod as the watch shows it.
type PodState struct {
	UID types.UID
	// Pod is the pod, with or without a node, nil when it is gone or has finished.
	Pod *Pod
}

// FollowPods has a function told of all present pods, in the order of their
// names, and of every later change, in the order of the watch, until stop is called.
// Assumptions are no changes. The function is called while the cluster is locked: it must
// return at once and not call the cluster.
func (c *Cluster) FollowPods(follow func(PodState)) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var pods []*Pod
	for _, pod := range c.waiting.pending {
		pods = append(pods, pod)
	}
	for uid, at := range c.ledger.placed {
		if _, pending := c.waiting.pending[uid]; !pending && c.ledger.assumed[uid] == nil && !at.pod.Placeholder {
			pods = append(pods, at.pod)
		}
	}
	slices.SortFunc(pods, byName)
	for _, pod := range pods {
		follow(PodState{UID: pod.UID, Pod: pod})
	}
	return c.podFollowers.add(&c.mu, follow)
}
