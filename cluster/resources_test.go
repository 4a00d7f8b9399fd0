package cluster

import (
	"fmt"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestResourceNamesKeepTheirIndexes(t *testing.T) {
	names := NewResourceNames()
	if _, ok := names.Lookup("a"); ok {
		t.Error("a name is known that nobody named")
	}
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			for i := range 50 {
				name := corev1.ResourceName(fmt.Sprintf("example.com/%d", i))
				index := names.Index(name)
				if again, ok := names.Lookup(name); !ok || again != index || names.Name(index) != name {
					t.Errorf("%s stands under %d, then under %d", name, index, again)
				}
			}
		})
	}
	callers.Wait()
	if n := len(names.known.Load().names); n != 50 {
		t.Errorf("%d names, want 50", n)
	}
}

func TestResourcesAreEqualWhateverTheLengthOfTheirScalars(t *testing.T) {
	tests := []struct {
		name string
		a, b Resources
		want bool
	}{
		{"nothing and zeros are equal", Resources{}, Resources{Scalar: []int64{0, 0}}, true},
		{"the same amounts are equal", Resources{MilliCPU: 1, Scalar: []int64{1}}, Resources{MilliCPU: 1, Scalar: []int64{1, 0}}, true},
		{"another scalar is another amount", Resources{Scalar: []int64{1}}, Resources{Scalar: []int64{0, 1}}, false},
		{"another memory is another amount", Resources{Memory: 1}, Resources{Memory: 2}, false},
		{"another storage is another amount", Resources{EphemeralStorage: 1}, Resources{}, false},
		{"another number of pods is another amount", Resources{Pods: 1}, Resources{}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.a.equal(&test.b); got != test.want || test.b.equal(&test.a) != test.want {
				t.Errorf("equal says %v, want %v both ways", got, test.want)
			}
		})
	}
}

func TestASumLeavesItsOperandsAlone(t *testing.T) {
	a, b := Resources{Scalar: []int64{1}}, Resources{MilliCPU: 5, Scalar: []int64{1, 2}}
	sum := a.plus(&b, +1)
	if back := sum.plus(&b, -1); !back.equal(&a) {
		t.Errorf("%v taken off again leaves %v, want %v", b, back, a)
	}
	if a.ScalarAt(0) != 1 || b.ScalarAt(0) != 1 || sum.ScalarAt(0) != 2 || sum.ScalarAt(1) != 2 {
		t.Errorf("%v + %v = %v", a, b, sum)
	}
	if sum.ScalarAt(-1) != 0 || sum.ScalarAt(9) != 0 {
		t.Error("there is some of a resource that nobody named")
	}
}

func TestResourcesThatCostNothingAreLeftOut(t *testing.T) {
	names := NewResourceNames()
	one := resource.MustParse("1")
	got := names.Resources(corev1.ResourceList{corev1.ResourceCPU: one, "example.com/gpu": one, "muster.dev/managed": one, "muster.dev/bound": one})
	if want := (Resources{MilliCPU: 1000, Scalar: []int64{1}}); !got.equal(&want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if _, known := names.Lookup("example.com/gpu"); !known || names.Len() != 1 {
		t.Errorf("%d names are known, want example.com/gpu alone", names.Len())
	}
}
