package loadaware

import (
	"maps"
	"math"
	"math/bits"
	"slices"
	"unique"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// vector is an amount of each resource of a profile, in their order: never negative, and
// at most most.
type vector []int64

// most is the largest amount: sums stop there, so that none overflows, and one more is
// still a number.
const most = math.MaxInt64 - 1

// resources are the resources whose load a profile looks at.
type resources struct {
	names []corev1.ResourceName
	// at says where each stands for a pod of a class; see priorityClass.
	at [classes][]place
}

// place is where an amount stands in a cluster.Resources.
type place struct {
	kind   placeKind
	scalar cluster.ScalarName
}

type placeKind int

const (
	milliCPU placeKind = iota
	memory
	ephemeralStorage
	podCount
	scalar
)

func (p place) of(amounts *cluster.Resources) int64 {
	switch p.kind {
	case milliCPU:
		return amounts.MilliCPU
	case memory:
		return amounts.Memory
	case ephemeralStorage:
		return amounts.EphemeralStorage
	case podCount:
		return amounts.Pods
	case scalar:
	}
	return amounts.Scalar(p.scalar)
}

// newResources returns cpu, memory, all resources that the arguments name, and the resources that they support
// beside, in the order of their names.
func newResources(args *config.LoadAwareSchedulingArgs) resources {
	supported := map[corev1.ResourceName]bool{corev1.ResourceCPU: true, corev1.ResourceMemory: true}
	name := func(amounts map[corev1.ResourceName]int64) {
		for name := range amounts {
			supported[name] = true
		}
	}
	name(args.ResourceWeights)
	name(args.UsageThresholds)
	name(args.ProdUsageThresholds)
	name(args.EstimatedScalingFactors)
	if args.Aggregated != nil {
		name(args.Aggregated.UsageThresholds)
	}
	for _, extra := range args.SupportedResources {
		supported[extra] = true
	}
	r := resources{names: slices.Sorted(maps.Keys(supported))}
	for class := range classes {
		for _, name := range r.names {
			r.at[class] = append(r.at[class], placeOf(class.name(name)))
		}
	}
	return r
}

func placeOf(name corev1.ResourceName) place {
	switch name {
	case corev1.ResourceCPU:
		return place{kind: milliCPU}
	case corev1.ResourceMemory:
		return place{kind: memory}
	case corev1.ResourceEphemeralStorage:
		return place{kind: ephemeralStorage}
	case corev1.ResourcePods:
		return place{kind: podCount}
	default:
		return place{kind: scalar, scalar: unique.Make(name)}
	}
}

// vector reads amounts that are by name.
func (r *resources) vector(amounts map[corev1.ResourceName]int64) vector {
	v := make(vector, len(r.names))
	for i, name := range r.names {
		v[i] = amounts[name]
	}
	return v
}

// read sets v to what is measured or offered.
func (r *resources) read(v vector, amounts *cluster.Resources) {
	for i, place := range r.at[noClass] {
		v[i] = clamped(place.of(amounts))
	}
}

func clamped(amount int64) int64 { return min(max(amount, 0), most) }

// plus returns the sum of two amounts.
func plus(a, b int64) int64 {
	if a > most-b {
		return most
	}
	return a + b
}

// add adds other to v.
func (v vector) add(other vector) {
	for i, amount := range other {
		v[i] = plus(v[i], amount)
	}
}

// percent returns of percent of an amount, rounded to the nearest integer, halves upwards.
func percent(of, amount int64) int64 { return hundredths(of, amount, 50) }

// percentUp is the same, rounded up.
func percentUp(of, amount int64) int64 { return hundredths(of, amount, 99) }

// hundredths is (a·b + extra)/100 of what is not negative. The product has 128 bits: that
// of a memory in bytes and of a percentage need not fit into 64.
func hundredths(a, b int64, extra uint64) int64 {
	high, low := bits.Mul64(uint64(a), uint64(b)) //nolint:gosec // not negative
	low, carry := bits.Add64(low, extra, 0)
	if high += carry; high >= 100 {
		return most
	}
	quotient, _ := bits.Div64(high, low, 100)
	return int64(min(quotient, most))
}

// share returns which part of whole an amount is that is not larger, in percent, rounded down.
func share(amount, whole int64) int64 {
	if amount <= math.MaxInt64/100 {
		return amount * 100 / whole
	}
	high, low := bits.Mul64(uint64(amount), 100)
	quotient, _ := bits.Div64(high, low, uint64(whole)) //nolint:gosec // at most 100, so high is less than whole
	return int64(quotient)                              //nolint:gosec // at most 100
}
