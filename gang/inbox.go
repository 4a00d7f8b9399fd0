package gang

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/cluster"
	"muster.dev/muster/cluster/lock"
	"muster.dev/muster/gang/membership"
)

// inbox holds what the watch has shown of members since it was last read.
type inbox struct {
	filled chan struct{} // has one element when there may be something to do

	mu      lock.Mutex
	members sets.Set[types.UID]
	states  []cluster.PodState
}

func (i *inbox) put(state cluster.PodState) {
	i.mu.Lock()
	defer i.mu.Unlock()
	of := false
	if state.Pod != nil {
		_, of = membership.Of(state.Pod)
	}
	switch {
	case of || state.Pod != nil && membership.Gated(state.Pod.Pod):
		i.members.Insert(state.UID)
	case i.members.Has(state.UID):
		if state.Pod == nil || state.Pod.Spec.NodeName != "" {
			i.members.Delete(state.UID) // else the scheduler may have to be told that it is of no gang any more
		}
	default:
		return
	}
	i.states = append(i.states, state)
	i.ring()
}

// ring says that there may be something to do.
func (i *inbox) ring() {
	select {
	case i.filled <- struct{}{}:
	default:
	}
}

func (i *inbox) take() []cluster.PodState {
	i.mu.Lock()
	defer i.mu.Unlock()
	states := i.states
	i.states = nil
	return states
}
