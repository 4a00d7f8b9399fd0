package fields

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestErrorsAreShortAndPrintable(t *testing.T) {
	at := field.NewPath("spec").Child("x")
	for name, test := range map[string]struct {
		read func(*Decoder)
		want string
	}{
		"nothing": {func(*Decoder) {}, ""},
		"what is missing": {func(d *Decoder) {
			d.Mapping(at, nil)
			d.List(at, nil)
			d.Text(at, nil)
			d.Decode(at, nil, new(int), "must be a number")
		}, ""},
		"a terminal's escape": {func(d *Decoder) { d.List(at, "\x1b[2J\u009b\n") }, `spec.x: Invalid value: "�[2J��": must be a list`},
		"a long text": {
			func(d *Decoder) { d.Mapping(at, strings.Repeat("x", 1000)) },
			`spec.x: Invalid value: "` + strings.Repeat("x", 64) + `…": must be a mapping`,
		},
		"a long value": {func(d *Decoder) { d.Text(at, []any{strings.Repeat("x", 1000)}) }, "spec.x: Invalid value: must be text"},
		"a number": {
			func(d *Decoder) { d.Decode(at, "1", new(int), "must be a number") }, `spec.x: Invalid value: "1": must be a number`,
		},
		"a negative amount": {
			func(d *Decoder) { d.Quantity(at, "-1") },
			`spec.x: Invalid value: "-1": must be a quantity of at least 0, such as 500m or 2Gi`,
		},
		"an amount without end": {
			func(d *Decoder) { d.Quantity(at, "1e-2147483648") },
			`spec.x: Invalid value: "1e-2147483648": must have at most 64 bytes, and an exponent of at most 2 digits`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var d Decoder
			test.read(&d)
			got := ""
			if err := d.Err(); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestManyErrorsAreCutShort(t *testing.T) {
	var d Decoder
	for i := range 1000 {
		d.Wrong(field.NewPath("spec").Index(i), i, "must not be")
	}
	if len(d.errs) != most {
		t.Errorf("%d errors are kept, want %d", len(d.errs), most)
	}
}
