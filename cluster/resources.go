package cluster

import (
	"cmp"
	"math"
	"slices"
	"unique"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"muster.dev/muster/api/quantity"
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
	// Scalars are the other resources with an amount above zero, in the order of their names. A resource that
	// nobody offers or asks for takes no room anywhere.
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

// Scalar returns the amount of a scalar resource, 0 when there is none of it.
func (r *Resources) Scalar(name ScalarName) int64 {
	for i := range r.Scalars { // there are few
		if r.Scalars[i].Name == name {
			return r.Scalars[i].Amount
		}
	}
	return 0
}

// IsZero reports whether there is nothing of any resource.
func (r *Resources) IsZero() bool { return r.equal(&Resources{}) }

// equal reports whether both are the same amounts.
func (r *Resources) equal(other *Resources) bool {
	return r.MilliCPU == other.MilliCPU && r.Memory == other.Memory && r.EphemeralStorage == other.EphemeralStorage &&
		r.Pods == other.Pods && slices.Equal(r.Scalars, other.Scalars)
}

// Plus returns the sum of two amounts, except their pods, as far as 64 bits hold it. Neither may be negative.
func (r Resources) Plus(other *Resources) Resources {
	return r.plus(other, +1)
}

// ShareOf returns the share that r is of all: of the resource with the largest one. What there is nothing of is left out.
func (r *Resources) ShareOf(all *Resources) (share float64) {
	larger := func(some, all int64) {
		if some > 0 && all > 0 {
			share = max(share, float64(some)/float64(all))
		}
	}
	larger(r.MilliCPU, all.MilliCPU)
	larger(r.Memory, all.Memory)
	larger(r.EphemeralStorage, all.EphemeralStorage)
	for _, of := range r.Scalars {
		larger(of.Amount, all.Scalar(of.Name))
	}
	return share
}

// full reports whether of some resource there is as much as 64 bits hold, or more: nothing may be taken off such a sum.
func (r *Resources) full() bool {
	return max(r.MilliCPU, r.Memory, r.EphemeralStorage) == math.MaxInt64 ||
		slices.ContainsFunc(r.Scalars, func(s Scalar) bool { return s.Amount == math.MaxInt64 })
}

// plus returns r + sign·other, except the pods of other, as far as 64 bits hold it.
func (r Resources) plus(other *Resources, sign int64) Resources {
	r.MilliCPU = quantity.Sum(r.MilliCPU, sign*other.MilliCPU)
	r.Memory = quantity.Sum(r.Memory, sign*other.Memory)
	r.EphemeralStorage = quantity.Sum(r.EphemeralStorage, sign*other.EphemeralStorage)
	if len(other.Scalars) > 0 {
		r.Scalars = plusScalars(r.Scalars, other.Scalars, sign)
	}
	return r
}

// plusScalars returns a + sign·b, in memory of its own.
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
			add(a[0].Name, quantity.Sum(a[0].Amount, sign*b[0].Amount))
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

// ResourcesOf reads a ResourceList. Amounts are rounded up, CPU to milli-CPU, as the scheduler does. Amounts of
// zero or less are left out.
func ResourcesOf(list corev1.ResourceList) Resources {
	var r Resources
	for name, amount := range list {
		if !v1alpha1.Costless(name) {
			r.set(name, &amount)
		}
	}
	slices.SortFunc(r.Scalars, func(a, b Scalar) int { return cmp.Compare(a.Name.Value(), b.Name.Value()) })
	return r
}

func (r *Resources) set(name corev1.ResourceName, of *resource.Quantity) {
	switch name {
	case corev1.ResourceCPU:
		r.MilliCPU = milliValue(of)
	case corev1.ResourceMemory:
		r.Memory = value(of)
	case corev1.ResourceEphemeralStorage:
		r.EphemeralStorage = value(of)
	case corev1.ResourcePods:
		r.Pods = value(of)
	default:
		if amount := value(of); amount != 0 {
			r.Scalars = append(r.Scalars, Scalar{unique.Make(name), amount})
		}
	}
}

// value returns the amount of a quantity, as far as 64 bits hold it.
func value(of *resource.Quantity) int64 {
	if of.CmpInt64(math.MaxInt64) > 0 {
		return math.MaxInt64
	}
	return max(0, of.Value())
}

// milliValue returns an amount in thousandths, cut to the largest number.
func milliValue(of *resource.Quantity) int64 {
	if of.CmpInt64(math.MaxInt64/1000) > 0 {
		return math.MaxInt64
	}
	return max(0, of.MilliValue())
}
