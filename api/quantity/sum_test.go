package quantity

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"muster.dev/muster/api/seeded"
)

func TestAWideSumIsExact(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		wide, want := Wide{}, new(big.Int)
		edge := rapid.SampledFrom([]int64{math.MinInt64, -1, 0, 1, math.MaxInt64})
		for _, n := range rapid.SliceOf(rapid.OneOf(edge, rapid.Int64())).Draw(t, "amounts") {
			if rapid.Bool().Draw(t, "plus") {
				wide = wide.Plus(n)
				want.Add(want, big.NewInt(n))
			} else {
				wide = wide.Minus(n)
				want.Sub(want, big.NewInt(n))
			}
		}
		if wide.Sign() != want.Sign() {
			t.Errorf("the sign of %+v is %d, that of %s is %d", wide, wide.Sign(), want, want.Sign())
		}
	})
}

func TestSumsAndDifferencesAreTheNearestNumbersThatThereAre(t *testing.T) {
	edge := rapid.SampledFrom([]int64{math.MinInt64, math.MinInt64 + 1, -1, 0, 1, math.MaxInt64 - 1, math.MaxInt64})
	number := rapid.OneOf(edge, rapid.Int64())
	nearest := func(n *big.Int) int64 {
		switch {
		case n.IsInt64():
			return n.Int64()
		case n.Sign() > 0:
			return math.MaxInt64
		}
		return math.MinInt64
	}
	seeded.Check(t, func(t *rapid.T) {
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		wide := func(n int64) *big.Int { return big.NewInt(n) }
		if want := nearest(wide(a).Add(wide(a), wide(b))); Sum(a, b) != want {
			t.Errorf("%d + %d is %d, want %d", a, b, Sum(a, b), want)
		}
		if want := nearest(wide(a).Sub(wide(a), wide(b))); Difference(a, b) != want {
			t.Errorf("%d - %d is %d, want %d", a, b, Difference(a, b), want)
		}
	})
}
