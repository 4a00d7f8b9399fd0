package finished

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// firstSeen has pods that have finished stay in the groups in which they were first seen: their owners may go before them.
type firstSeen struct {
	now func(*metav1.PartialObjectMetadata) (string, types.NamespacedName, bool)

	mu     sync.Mutex
	groups map[types.UID]seen
}

// seen is the group of a pod.
type seen struct {
	label string
	group types.NamespacedName
}

func newFirstSeen(now func(*metav1.PartialObjectMetadata) (string, types.NamespacedName, bool)) *firstSeen {
	return &firstSeen{now: now, groups: map[types.UID]seen{}}
}

// of implements groups.
func (f *firstSeen) of(pod *metav1.PartialObjectMetadata) (label string, group types.NamespacedName, member bool) {
	f.mu.Lock()
	known, has := f.groups[pod.UID]
	f.mu.Unlock()
	if has {
		return known.label, known.group, true
	}
	if label, group, member = f.now(pod); member {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.groups[pod.UID] = seen{label, group}
	}
	return label, group, member
}

// forget implements groups.
func (f *firstSeen) forget(pod types.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.groups, pod)
}

// trimOwned is trim, except that it keeps what tells the group of a pod.
func trimOwned(pod any) (any, error) {
	if metadata, ok := pod.(*metav1.PartialObjectMetadata); ok {
		metadata.ManagedFields = nil
	}
	return pod, nil
}
