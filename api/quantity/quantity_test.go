package quantity

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/api/seeded"
)

func TestQuantitiesWithinTheBoundsAreParsedAsEverywhere(t *testing.T) {
	for _, text := range []string{
		"0", "1", "-1", "+2", "1.5", ".5", "5.", "100m", "2Gi", "1e3", "1E3", "1e-9", "12e+6", "9E", "7Ei", "9223372036854775807",
		"0.000000001", "1e99", "1e-99",
	} {
		t.Run(text, func(t *testing.T) {
			got, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			if want := resource.MustParse(text); got.Cmp(want) != 0 {
				t.Errorf("is %s, want %s", got.String(), want.String())
			}
		})
	}
}

func TestQuantitiesBeyondTheBoundsAreRefusedUnparsed(t *testing.T) {
	for text, want := range map[string]string{
		"1e-2147483648":            `"1e-2147483648" has an exponent of 10 digits; a quantity has 2 at most`,
		"1e-30000000":              `"1e-30000000" has an exponent of 8 digits; a quantity has 2 at most`,
		"1E+100":                   `"1E+100" has an exponent of 3 digits; a quantity has 2 at most`,
		"1e4294967296":             `"1e4294967296" has an exponent of 10 digits; a quantity has 2 at most`,
		strings.Repeat("1", 65):    `"11111111111111111111111111111111"… has 65 bytes; a quantity has 64 at most`,
		strings.Repeat("\xff", 65): `"` + strings.Repeat(`\xff`, 32) + `"… has 65 bytes; a quantity has 64 at most`,
		"much":                     `"much": quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'`,
		"":                         `"": quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'`,
	} {
		t.Run(text, func(t *testing.T) {
			if got, err := Parse(text); err == nil || err.Error() != want {
				t.Errorf("got %s, %v\nwant %s", got.String(), err, want)
			}
		})
	}
}

// Whatever is within the bounds is parsed, summed up and compared at once: what comes of it has a few hundred digits at most.
func TestNoQuantityWithinTheBoundsTakesLong(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[+-]?[0-9]{0,30}\.?[0-9]{0,29}(([KMGTPE]i)|[numkMGTPE]|([eE][+-]?[0-9]{0,2}))?`).Draw(t, "text")
		parsed, err := Parse(text)
		if err != nil {
			return
		}
		one := resource.MustParse("1")
		one.Add(parsed)
		_, _, _, _ = one.Cmp(parsed), parsed.Value(), parsed.MilliValue(), one.String()
		if bits := one.AsDec().UnscaledBig().BitLen(); bits > 1024 {
			t.Errorf("%s and 1 are a number of %d bits", text, bits)
		}
	})
}

// What a schema lets pass can be parsed, so that no object waits in the API server that
// muster refuses for a quantity.
func TestWhatThePatternAllowsIsWithinTheBounds(t *testing.T) {
	pattern := regexp.MustCompile(Pattern)
	seeded.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.StringMatching(Pattern), rapid.StringMatching(`[-+0-9.eEinumkKMGTP]{0,12}`)).Draw(t, "text")
		if len(text) > MaxLength {
			return
		}
		if _, err := Parse(text); pattern.MatchString(text) && err != nil {
			t.Errorf("%q matches: %v", text, err)
		}
	})
}

func TestCapBringsAmountsWithinTheBounds(t *testing.T) {
	list := corev1.ResourceList{
		"cpu": resource.MustParse("1e30000000"), "memory": resource.MustParse("-1e30000000"),
		"fine": resource.MustParse("1500m"), "sum": resource.MustParse("1"),
	}
	Cap(list)
	sum := list["sum"]
	sum.Add(list["cpu"]) // takes for ever where it is not capped
	const most = math.MaxInt64 / 1000
	for name, want := range map[corev1.ResourceName]int64{"cpu": most * 1000, "memory": -most * 1000, "fine": 1500, "sum": 1000} {
		if q := list[name]; q.MilliValue() != want {
			t.Errorf("%s is %d thousandths, want %d", name, q.MilliValue(), want)
		}
	}
}

func TestAValueWithoutATypeIsReadAsAQuantity(t *testing.T) {
	for _, test := range []struct {
		value any
		want  string
		err   error
	}{
		{"1Gi", "1Gi", nil},
		{int64(4), "4", nil},
		{1.5, "1500m", nil},
		{nil, "0", nil},
		{true, "0", resource.ErrFormatWrong},
		{[]any{"1"}, "0", resource.ErrFormatWrong},
		{"", "0", resource.ErrFormatWrong},
		{"1e-2147483648", "0", ErrBeyond},
		{1e300, "0", ErrBeyond},
	} {
		if got, err := Value(test.value); got.String() != test.want || !errors.Is(err, test.err) {
			t.Errorf("%v is %s, %v, want %s, %v", test.value, got.String(), err, test.want, test.err)
		}
	}
}

// The CRDs of muster let an API server refuse what muster would.
func TestTheSchemasHaveTheBounds(t *testing.T) {
	crds, err := filepath.Glob("../../charts/muster/crds/*.yaml")
	if err != nil || len(crds) == 0 {
		t.Fatal(crds, err)
	}
	found := 0
	var look func(t *testing.T, path string, schema any)
	look = func(t *testing.T, path string, schema any) {
		switch schema := schema.(type) {
		case map[string]any:
			if schema["x-kubernetes-int-or-string"] == true {
				found++
				if schema["pattern"] != Pattern || schema["maxLength"] != float64(MaxLength) {
					t.Errorf("%s: the pattern is %v and the length %v, want %s and %d", path, schema["pattern"], schema["maxLength"], Pattern, MaxLength)
				}
			}
			for name, value := range schema {
				look(t, path+"."+name, value)
			}
		case []any:
			for _, value := range schema {
				look(t, path, value)
			}
		}
	}
	for _, path := range crds {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var crd any
		if err := yaml.Unmarshal(text, &crd); err != nil {
			t.Fatal(err)
		}
		look(t, filepath.Base(path), crd)
	}
	if found < 6 {
		t.Errorf("%d quantities are in the schemas", found)
	}
}
