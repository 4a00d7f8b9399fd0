package cluster

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

// Resources is an amount of every resource: what a node offers, what its pods
// ask for, what a pod asks for. The common ones are fields, the others
// (extended resources, huge pages) stand in Scalar under the index that
// [ResourceNames] gives to their name. A Resources that is part of a Node, a
// Pod or a Snapshot is immutable.
type Resources struct {
	MilliCPU         int64
	Memory           int64 // bytes
	EphemeralStorage int64 // bytes
	Pods             int64 // a count; only set on what a node offers
	Scalar           []int64
}

// ScalarAt is the amount of the scalar resource with the given index, 0 when
// there is none of it.
func (r *Resources) ScalarAt(index int) int64 {
	if index < 0 || index >= len(r.Scalar) {
		return 0
	}
	return r.Scalar[index]
}

// IsZero says that there is nothing of any resource.
func (r *Resources) IsZero() bool { return r.equal(&Resources{}) }

// equal says that both are the same amounts.
func (r *Resources) equal(other *Resources) bool {
	if r.MilliCPU != other.MilliCPU || r.Memory != other.Memory || r.EphemeralStorage != other.EphemeralStorage || r.Pods != other.Pods {
		return false
	}
	for i := range max(len(r.Scalar), len(other.Scalar)) {
		if r.ScalarAt(i) != other.ScalarAt(i) {
			return false
		}
	}
	return true
}

// plus is r + sign·other, in memory of its own where the operands have scalars.
func (r Resources) plus(other *Resources, sign int64) Resources {
	r.MilliCPU += sign * other.MilliCPU
	r.Memory += sign * other.Memory
	r.EphemeralStorage += sign * other.EphemeralStorage
	if len(other.Scalar) > 0 {
		sum := make([]int64, max(len(r.Scalar), len(other.Scalar)))
		copy(sum, r.Scalar)
		for i, amount := range other.Scalar {
			sum[i] += sign * amount
		}
		r.Scalar = sum
	}
	return r
}

// ResourceNames gives every scalar resource name a small index, in the order in
// which they are first seen. Indexes never change. It is safe for concurrent
// use; a lookup takes no lock.
type ResourceNames struct {
	mu    sync.Mutex
	known atomic.Pointer[resourceTable]
}

type resourceTable struct {
	index map[corev1.ResourceName]int
	names []corev1.ResourceName
}

// NewResourceNames returns an empty table.
func NewResourceNames() *ResourceNames {
	n := &ResourceNames{}
	n.known.Store(&resourceTable{index: map[corev1.ResourceName]int{}})
	return n
}

// Lookup returns the index of a name, and false if it was never seen.
func (n *ResourceNames) Lookup(name corev1.ResourceName) (int, bool) {
	i, ok := n.known.Load().index[name]
	return i, ok
}

// Len is the number of names seen so far.
func (n *ResourceNames) Len() int { return len(n.known.Load().names) }

// Name returns the name with an index that Lookup or a Resources gave.
func (n *ResourceNames) Name(index int) corev1.ResourceName {
	return n.known.Load().names[index]
}

// Index returns the index of a name. A name that was never seen gets one.
func (n *ResourceNames) Index(name corev1.ResourceName) int {
	if i, ok := n.Lookup(name); ok {
		return i
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	old := n.known.Load()
	if i, ok := old.index[name]; ok {
		return i
	}
	next := &resourceTable{index: maps.Clone(old.index), names: append(slices.Clip(old.names), name)}
	next.index[name] = len(old.names)
	n.known.Store(next)
	return next.index[name]
}

// Resources reads a ResourceList. Amounts are rounded up, CPU to milli-CPU, as
// the scheduler does. Resources that cost nothing are left out.
func (n *ResourceNames) Resources(list corev1.ResourceList) Resources {
	var r Resources
	for name, quantity := range list {
		if v1alpha1.Costless(name) {
			continue
		}
		n.set(&r, name, &quantity)
	}
	return r
}

func (n *ResourceNames) set(r *Resources, name corev1.ResourceName, quantity *resource.Quantity) {
	switch name {
	case corev1.ResourceCPU:
		r.MilliCPU = quantity.MilliValue()
	case corev1.ResourceMemory:
		r.Memory = quantity.Value()
	case corev1.ResourceEphemeralStorage:
		r.EphemeralStorage = quantity.Value()
	case corev1.ResourcePods:
		r.Pods = quantity.Value()
	default:
		i := n.Index(name)
		if i >= len(r.Scalar) {
			r.Scalar = append(r.Scalar, make([]int64, i+1-len(r.Scalar))...)
		}
		r.Scalar[i] = quantity.Value()
	}
}
