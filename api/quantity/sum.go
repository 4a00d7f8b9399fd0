package quantity

import "math"

// Sum is a + b, or the nearest number that 64 bits hold: of amounts that people write no sum may wrap, since too much would
// become less than nothing.
func Sum(a, b int64) int64 {
	sum := a + b
	switch {
	case a > 0 && b > 0 && sum < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && sum >= 0:
		return math.MinInt64
	}
	return sum
}

// Difference is a - b, or the nearest number that 64 bits hold.
func Difference(a, b int64) int64 {
	difference := a - b
	switch {
	case a >= 0 && b < 0 && difference < 0:
		return math.MaxInt64
	case a < 0 && b > 0 && difference >= 0:
		return math.MinInt64
	}
	return difference
}
