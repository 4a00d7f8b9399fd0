package operators_test

import (
	"math"
	"testing"

	"muster.dev/muster/gang/operators"
)

func TestWhatUsersWroteIsANumberFromZeroOn(t *testing.T) {
	for name, test := range map[string]struct {
		written any
		want    int32
	}{
		"nothing":       {nil, 7},
		"a text":        {"3", 7},
		"a number":      {int64(3), 3},
		"a fraction":    {3.9, 3},
		"below zero":    {int64(-3), 0},
		"far too large": {int64(math.MaxInt64), math.MaxInt32},
		"larger still":  {1e300, math.MaxInt32},
	} {
		t.Run(name, func(t *testing.T) {
			object := operators.Object{"spec": map[string]any{"replicas": test.written}}
			if got := object.Number(7, "spec", "replicas"); got != test.want {
				t.Errorf("it reads as %d, want %d", got, test.want)
			}
		})
	}
}

func TestNumbersDoNotWrapAround(t *testing.T) {
	for _, test := range []struct{ a, b, product, sum int32 }{
		{3, 4, 12, 7},
		{1 << 16, 1 << 16, math.MaxInt32, 1 << 17},
		{math.MaxInt32, 2, math.MaxInt32, math.MaxInt32},
		{math.MaxInt32, 0, 0, math.MaxInt32},
	} {
		if got := operators.Times(test.a, test.b); got != test.product {
			t.Errorf("%d times %d is %d, want %d", test.a, test.b, got, test.product)
		}
		if got := operators.Sum(test.a, test.b); got != test.sum {
			t.Errorf("%d and %d are %d, want %d", test.a, test.b, got, test.sum)
		}
	}
}

// What nobody has checked may be anything anywhere.
func TestWhatIsMissingReadsAsNothing(t *testing.T) {
	object := operators.Object{"spec": "not an object", "list": []any{"not an object", map[string]any{"name": "a"}}}
	if object.Has("spec", "a", "b") || object.Text("spec", "a") != "" || object.True("absent", "a") || len(object.Items("spec", "a")) > 0 {
		t.Errorf("something is read of %v", object)
	}
	items := object.Items("list")
	if len(items) != 2 || items[0].Text("name") != "" || items[1].Text("name") != "a" {
		t.Errorf("the items are %v", items)
	}
}
