package source

import (
	"maps"
	"math"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
)

// figures are the figures of nodes or pods, resource by resource, from answers to queries. A node or pod with
// one absurd figure has none.
type figures[Key comparable] struct {
	used map[Key]corev1.ResourceList
	// refused are the absurd figures, in the order in which they came.
	refused []refusedFigure[Key]
	void    map[Key]bool
}

type refusedFigure[Key comparable] struct {
	of       Key
	resource corev1.ResourceName
	value    string
	reason   Absurdity
}

func newFigures[Key comparable]() *figures[Key] {
	return &figures[Key]{used: map[Key]corev1.ResourceList{}, void: map[Key]bool{}}
}

// enter enters what somebody uses of a resource: cores of cpu, and of all else whole units.
func (f *figures[Key]) enter(of Key, name corev1.ResourceName, value float64) {
	amounts := f.used[of]
	reason := absurd(value)
	if _, twice := amounts[name]; twice {
		reason = SeveralSeries
	}
	switch {
	case f.void[of]:
	case reason != "":
		delete(f.used, of)
		f.void[of] = true
		f.refused = append(f.refused, refusedFigure[Key]{of, name, strconv.FormatFloat(value, 'g', -1, 64), reason})
	default:
		if amounts == nil {
			amounts = corev1.ResourceList{}
			f.used[of] = amounts
		}
		amounts[name] = *resource.NewMilliQuantity(int64(math.Ceil(value*1000)), resource.DecimalSI)
	}
}

// absurd says why nobody can use so much, "" when somebody can.
func absurd(value float64) Absurdity {
	const most = math.MaxInt64 / 1000 // is counted in thousandths
	switch {
	case math.IsNaN(value):
		return NotANumber
	case value < 0:
		return BelowZero
	case value >= most:
		return Infinite
	}
	return ""
}

// complete leaves out every node or pod that not all queries answer for, and returns what is missing: of
// resources whose queries answer for somebody.
func (f *figures[Key]) complete(asked []corev1.ResourceName, answered map[corev1.ResourceName]bool) (missing []refusedFigure[Key]) {
	for of, amounts := range f.used {
		if len(amounts) == len(asked) {
			continue
		}
		for _, name := range asked {
			if _, known := amounts[name]; !known && answered[name] {
				missing = append(missing, refusedFigure[Key]{of: of, resource: name, reason: Missing})
			}
		}
		delete(f.used, of)
	}
	return missing
}

// Believe returns the absurd figures in the reported use of a node: figures below zero, and missing figures of
// cpu or memory.
func Believe(node string, used corev1.ResourceList) []Refusal {
	return append(BelowNothing(node, used), lacking(node, used)...)
}

// BelievePod is Believe of a pod. One that is said to use nothing of cpu or memory is not measured, which
// is nothing absurd.
func BelievePod(name types.NamespacedName, used corev1.ResourceList) (refused []Refusal, measured bool) {
	of := name.String()
	refused = BelowNothing(of, used)
	for i := range refused {
		refused[i].Pod = true
	}
	return refused, len(refused) == 0 && len(lacking(of, used)) == 0
}

// BelowNothing returns the figures that are below zero.
func BelowNothing(of string, used corev1.ResourceList) (refused []Refusal) {
	for _, name := range slices.Sorted(maps.Keys(used)) {
		if quantity := used[name]; quantity.Sign() < 0 {
			refused = append(refused, Refusal{Of: of, Resource: name, Value: quantity.String(), Reason: BelowZero})
		}
	}
	return refused
}

func lacking(of string, used corev1.ResourceList) (missing []Refusal) {
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if _, known := used[name]; !known {
			missing = append(missing, Refusal{Of: of, Resource: name, Reason: Missing})
		}
	}
	return missing
}
