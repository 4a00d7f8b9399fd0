// Package quantity reads quantities that nobody has checked.
//
// [resource.ParseQuantity] works out what a text stands for digit by digit: "1e-30000000" takes
// it seconds, "1e-2147483648" for ever, and of "1e30000000" every sum and comparison takes as
// long. An API server checks no more of a custom resource than its schema says, and nothing of
// an annotation, a ConfigMap or the body of a request. So a text is bounded before it is parsed.
//
// A quantity stands for up to 2⁶³-1 in steps of 10⁻⁹, which is 28 digits and an exponent as
// large; the bounds leave room for zeros. The CRDs of muster have the same ones in their
// schemas.
package quantity

import (
	"fmt"
	"math"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

const (
	// MaxLength is how long the text of a quantity may be, in bytes.
	MaxLength = 64
	// MaxExponentDigits is how many digits its exponent may have: from e-99 to e99.
	MaxExponentDigits = 2
	// Pattern is the form of a quantity with such an exponent, as it stands in the schemas.
	Pattern = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?[0-9]{1,2}))?$`
)

// shown is how much of a text that is too long stands in an error.
const shown = 32

// Parse is [resource.ParseQuantity] of a text within the bounds. The error has the value, and
// the bound that does not hold.
func Parse(text string) (resource.Quantity, error) {
	if err := Check(text); err != nil {
		return resource.Quantity{}, err
	}
	parsed, err := resource.ParseQuantity(text)
	if err != nil {
		return resource.Quantity{}, fmt.Errorf("%q: %w", text, err)
	}
	return parsed, nil
}

// Value reads what stands for a quantity in an object without a type: a text or a number, or
// nothing. The error has no value in it.
func Value(value any) (resource.Quantity, error) {
	switch value.(type) {
	case nil:
		return resource.Quantity{}, nil
	case string, int64, float64:
	default:
		return resource.Quantity{}, resource.ErrFormatWrong
	}
	text := fmt.Sprint(value)
	if Check(text) != nil {
		return resource.Quantity{}, ErrBeyond
	}
	return resource.ParseQuantity(text)
}

// ErrBeyond says that a quantity is beyond the bounds.
var ErrBeyond = fmt.Errorf("must have at most %d bytes, and an exponent of at most %d digits", MaxLength, MaxExponentDigits)

// Check says whether a text is within the bounds, and so may be parsed. It need not be a quantity.
func Check(text string) error {
	if len(text) > MaxLength {
		return fmt.Errorf("%q… has %d bytes; a quantity has %d at most", text[:shown], len(text), MaxLength)
	}
	if digits := exponentDigits(text); digits > MaxExponentDigits {
		return fmt.Errorf("%q has an exponent of %d digits; a quantity has %d at most", text, digits, MaxExponentDigits)
	}
	return nil
}

// exponentDigits is how many digits follow the last e or E of a text: no other suffix of a
// quantity has any.
func exponentDigits(text string) (digits int) {
	at := strings.LastIndexAny(text, "eE")
	if at < 0 {
		return 0
	}
	for _, c := range []byte(text[at+1:]) {
		if c >= '0' && c <= '9' {
			digits++
		}
	}
	return digits
}

// Cap brings the quantities of a list, which the API server has taken, within the bounds: it
// takes "1e30000000" for the amount of a pod. What is beyond them becomes the largest amount
// whose thousandths can be counted.
func Cap[M ~map[K]resource.Quantity, K comparable](list M) {
	for name, q := range list {
		if Check(q.String()) == nil { // the text that was parsed, in nearly all cases
			continue
		}
		most := int64(math.MaxInt64 / 1000)
		if q.Sign() < 0 {
			most = -most
		}
		list[name] = *resource.NewQuantity(most, resource.DecimalSI)
	}
}
