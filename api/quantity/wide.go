package quantity

import "math/bits"

// Wide is a sum of any amounts, exactly. The zero Wide is 0.
type Wide struct {
	high int64
	low  uint64
}

// Plus is w + n.
func (w Wide) Plus(n int64) Wide {
	low, carry := bits.Add64(w.low, uint64(n), 0)   //nolint:gosec // its bits, with the sign in high
	return Wide{w.high + n>>63 + int64(carry), low} //nolint:gosec // 0 or 1
}

// Minus is w - n.
func (w Wide) Minus(n int64) Wide {
	low, borrow := bits.Sub64(w.low, uint64(n), 0)   //nolint:gosec // as above
	return Wide{w.high - n>>63 - int64(borrow), low} //nolint:gosec // as above
}

// Sign is -1, 0 or +1.
func (w Wide) Sign() int {
	switch {
	case w.high < 0:
		return -1
	case w.high == 0 && w.low == 0:
		return 0
	}
	return 1
}
