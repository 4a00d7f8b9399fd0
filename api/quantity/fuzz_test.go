package quantity

import (
	"regexp"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"muster.dev/muster/api/bounded/boundedtest"
)

// What is let through is parsed, summed and compared within moments, whatever the text says.
func FuzzCheck(f *testing.F) {
	for _, text := range boundedtest.Quantities() {
		f.Add(text)
	}
	pattern := regexp.MustCompile(Pattern)
	f.Fuzz(func(t *testing.T, text string) {
		var refused error
		boundedtest.Bound{Times: 1}.Check(t, min(len(text), MaxLength), func() { refused = Check(text) })
		if refused != nil {
			if len(text) <= MaxLength && pattern.MatchString(text) {
				t.Errorf("the schemas let %q through, and Check says %v", text, refused)
			}
			if _, err := Parse(text); err == nil || err.Error() != refused.Error() {
				t.Errorf("Check says %v, Parse %v", refused, err)
			}
			return
		}
		boundedtest.Bound{Beside: 32 << 10}.Check(t, 0, func() {
			got, err := Parse(text)
			if err != nil {
				return
			}
			want, err := resource.ParseQuantity(text)
			if err != nil || got.Cmp(want) != 0 || got.String() != want.String() {
				t.Errorf("%q is %s, the API machinery has %s, %v", text, &got, &want, err)
			}
			sum := resource.MustParse("1")
			sum.Add(got)
			_, _, _ = sum.MilliValue(), sum.Value(), got.AsApproximateFloat64()
			list := corev1.ResourceList{"cpu": got}
			Cap(list)
			if capped := list["cpu"]; Check(capped.String()) != nil {
				t.Errorf("%q is capped to %s", text, &capped)
			}
		})
	})
}
