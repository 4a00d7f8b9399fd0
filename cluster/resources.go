package cluster

import (
	"cmp"
	"math"
	"slices"
	"unique"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

// Resources is an amount of every resource: what a node offers, what its pods
// ask for, what a pod asks for. The common ones are fields, the others
// (extended resources, huge pages) stand in Scalars. A Resources that is part of a
// Node, a Pod or a Snapshot is immutable.
type Resources struct {
	MilliCPU         int64
	Memory           int64 // bytes
	EphemeralStorage int64 // bytes
	Pods             int64 // a count; only set on what a node offers
	// Scalars are the other resources of which there is something, in the order of their
	// names. What nobody offers or asks for takes no room anywhere.
	Scalars []Scalar
}

// Scalar is an amount of a scalar resource, other than 0.
type Scalar struct {
	Name   ScalarName
	Amount int64
}

// ScalarName is the name of a scalar resource. To compare two is to compare pointers, and the
// text is kept once, for as long as somebody has it.
type ScalarName = unique.Handle[corev1.ResourceName]

// Scalar is the amount of a scalar resource, 0 when there is none of it.
func (r *Resources) Scalar(name ScalarName) int64 {
	for i := range r.Scalars { // there are few
		if r.Scalars[i].Name == name {
			return r.Scalars[i].Amount
		}
	}
	return 0
}

// IsZero says that there is nothing of any resource.
func (r *Resources) IsZero() bool { return r.equal(&Resources{}) }

// equal says that both are the same amounts.
func (r *Resources) equal(other *Resources) bool {
	return r.MilliCPU == other.MilliCPU && r.Memory == other.Memory && r.EphemeralStorage == other.EphemeralStorage &&
		r.Pods == other.Pods && slices.Equal(r.Scalars, other.Scalars)
}

// Plus is the sum of two amounts, but for their pods, as far as 64 bits hold it. There is nothing
// negative in either.
func (r Resources) Plus(other *Resources) Resources {
	sum := r.plus(other, +1)
	sum.MilliCPU, sum.Memory, sum.EphemeralStorage = saturated(sum.MilliCPU), saturated(sum.Memory), saturated(sum.EphemeralStorage)
	for i := range sum.Scalars {
		if amount := &sum.Scalars[i].Amount; *amount < 0 {
			*amount = saturated(*amount)
		}
	}
	return sum
}

// saturated is a sum of two amounts, or the largest one if 64 bits do not hold it.
func saturated(sum int64) int64 {
	if sum < 0 {
		return math.MaxInt64
	}
	return sum
}

// plus is r + sign·other, but for the pods of other.
func (r Resources) plus(other *Resources, sign int64) Resources {
	r.MilliCPU += sign * other.MilliCPU
	r.Memory += sign * other.Memory
	r.EphemeralStorage += sign * other.EphemeralStorage
	if len(other.Scalars) > 0 {
		r.Scalars = plusScalars(r.Scalars, other.Scalars, sign)
	}
	return r
}

// plusScalars is a + sign·b, in memory of its own.
func plusScalars(a, b []Scalar, sign int64) []Scalar {
	sum := make([]Scalar, 0, max(len(a), len(b)))
	add := func(name ScalarName, amount int64) {
		if amount != 0 {
			sum = append(sum, Scalar{name, amount})
		}
	}
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].Name == b[0].Name:
			add(a[0].Name, a[0].Amount+sign*b[0].Amount)
			a, b = a[1:], b[1:]
		case a[0].Name.Value() < b[0].Name.Value():
			sum, a = append(sum, a[0]), a[1:]
		default:
			add(b[0].Name, sign*b[0].Amount)
			b = b[1:]
		}
	}
	sum = append(sum, a...)
	for i := range b {
		add(b[i].Name, sign*b[i].Amount)
	}
	if len(sum) == 0 {
		return nil
	}
	return sum
}

// ResourcesOf reads a ResourceList. Amounts are rounded up, CPU to milli-CPU, as
// the scheduler does. Resources that cost nothing are left out, and so is what is less than
// nothing.
func ResourcesOf(list corev1.ResourceList) Resources {
	var r Resources
	for name, quantity := range list {
		if !v1alpha1.Costless(name) {
			r.set(name, &quantity)
		}
	}
	slices.SortFunc(r.Scalars, func(a, b Scalar) int { return cmp.Compare(a.Name.Value(), b.Name.Value()) })
	return r
}

func (r *Resources) set(name corev1.ResourceName, quantity *resource.Quantity) {
	switch name {
	case corev1.ResourceCPU:
		r.MilliCPU = milliValue(quantity)
	case corev1.ResourceMemory:
		r.Memory = value(quantity)
	case corev1.ResourceEphemeralStorage:
		r.EphemeralStorage = value(quantity)
	case corev1.ResourcePods:
		r.Pods = value(quantity)
	default:
		if amount := value(quantity); amount != 0 {
			r.Scalars = append(r.Scalars, Scalar{unique.Make(name), amount})
		}
	}
}

// value is the amount of a quantity, as far as 64 bits hold it.
func value(quantity *resource.Quantity) int64 {
	if quantity.CmpInt64(math.MaxInt64) > 0 {
		return math.MaxInt64
	}
	return max(0, quantity.Value())
}

// milliValue returns an amount in thousandths, cut to the largest number that there is.
func milliValue(quantity *resource.Quantity) int64 {
	if quantity.CmpInt64(math.MaxInt64/1000) > 0 {
		return math.MaxInt64
	}
	return max(0, quantity.MilliValue())
}

// mostOfAPod is the largest amount that counts of a pod. One that asks for more fits nowhere
// either way, and the sum over a thousand pods of a node is a number yet.
const mostOfAPod = 1 << 53

// ofAPod is r as it counts on a node.
func (r Resources) ofAPod() Resources {
	r.MilliCPU, r.Memory, r.EphemeralStorage = min(r.MilliCPU, mostOfAPod), min(r.Memory, mostOfAPod), min(r.EphemeralStorage, mostOfAPod)
	for i := range r.Scalars {
		r.Scalars[i].Amount = min(r.Scalars[i].Amount, mostOfAPod)
	}
	return r
}
