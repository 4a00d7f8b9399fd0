package v1alpha1

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

func TestSeparationOf(t *testing.T) {
	tests := []struct {
		name        string
		annotations map[string]string
		want        Separation
		asked       bool
		err         string
	}{
		{name: "a pod that nobody asks about", annotations: map[string]string{AnnotationSeparateWhy: "noise"}},
		{
			name: "from another pod", annotations: map[string]string{AnnotationSeparateFrom: "lab/noisy-1", AnnotationSeparateWhy: "cache misses"},
			want: Separation{Pod: types.NamespacedName{Namespace: "lab", Name: "noisy-1"}, Why: "cache misses"}, asked: true,
		},
		{
			name: "from its node", annotations: map[string]string{AnnotationSeparateFrom: "worker-a.example.com"},
			want: Separation{Node: "worker-a.example.com"}, asked: true,
		},
		{
			name: "from nothing", annotations: map[string]string{AnnotationSeparateFrom: ""}, asked: true,
			err: `metadata.annotations[rescheduling.muster.dev/separate-from]: Invalid value: "": must be a pod, as in lab/noisy-1, or a node: `,
		},
		{
			name:        "from a selector",
			annotations: map[string]string{AnnotationSeparateFrom: "app=noisy"},
			asked:       true,
			err: `metadata.annotations[rescheduling.muster.dev/separate-from]: Invalid value: "app=noisy": must be a pod, as in ` +
				`lab/noisy-1, or a node: `,
		},
		{
			name: "from a pod without a name", annotations: map[string]string{AnnotationSeparateFrom: "lab/"}, asked: true,
			err: `metadata.annotations[rescheduling.muster.dev/separate-from]: Invalid value: "lab/": must be namespace/name: `,
		},
		{
			name:        "for a reason that is a story",
			annotations: map[string]string{AnnotationSeparateFrom: "a", AnnotationSeparateWhy: strings.Repeat("x", 257)},
			asked:       true,
			err:         `metadata.annotations[rescheduling.muster.dev/separate-why]: Too long: `,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, asked, err := SeparationOf(test.annotations)
			if diff := cmp.Diff(test.want, got); diff != "" || asked != test.asked {
				t.Errorf("asked %t (-want +got):\n%s", asked, diff)
			}
			if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("the error is %v, want %s", err, test.err)
			}
			if from := test.annotations[AnnotationSeparateFrom]; err == nil && asked && got.String() != from {
				t.Errorf("it is written %q, and was %q", got, from)
			}
		})
	}
}
