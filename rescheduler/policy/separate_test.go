package policy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"muster.dev/muster/api/rescheduling/v1alpha1"
)

func TestSeparate(t *testing.T) {
	from := func(what string) func(*corev1.Pod) { return annotated(v1alpha1.AnnotationSeparateFrom, what) }
	because := annotated(v1alpha1.AnnotationSeparateWhy, "cache misses tripled")
	a, b, c := node("a"), node("b"), node("c")
	tests := []struct {
		name    string
		objects []runtime.Object
		want    []string
		why     string
	}{
		{
			name: "nobody asks", objects: []runtime.Object{a, b, pod("x-1", "a"), pod("y-1", "a")},
			why: "there are no pods that are to be separated",
		},
		{
			name: "from a pod on the same node", objects: []runtime.Object{a, b, pod("x-1", "a", from("shop/y-1"), because), pod("y-1", "a")},
			want: []string{"x-1: a → b (is to be separated from shop/y-1: cache misses tripled)"},
		},
		{
			name: "not to a node with another pod of the same controller",
			objects: []runtime.Object{
				a, b, c, pod("x-1", "a", from("shop/y-1")), pod("y-1", "a"), pod("y-2", "b"), pod("z-1", "c"), pod("z-2", "c"),
			},
			want: []string{"x-1: a → c (is to be separated from shop/y-1)"},
		},
		{
			name: "which leaves no node", objects: []runtime.Object{a, b, pod("x-1", "a", from("shop/y-1")), pod("y-1", "a"), pod("y-2", "b")},
			want: []string{"shop/x-1: no node could take the pod, whatever pods were moved"},
			why:  "no plan for the 1 pods that are to be separated; of shop/x-1: no node could take the pod, whatever pods were moved",
		},
		{
			name: "from a pod of its own controller", objects: []runtime.Object{a, b, pod("x-1", "a", from("shop/x-2")), pod("x-2", "a")},
			want: []string{"x-1: a → b (is to be separated from shop/x-2)"},
		},
		{
			name: "from a pod that is elsewhere", objects: []runtime.Object{a, b, pod("x-1", "a", from("shop/y-1")), pod("y-1", "b")},
			why: "there are no pods that are to be separated",
		},
		{
			name: "from one that is leaving",
			objects: []runtime.Object{a, b, pod("x-1", "a", from("shop/y-1")), pod("y-1", "a", func(p *corev1.Pod) {
				p.DeletionTimestamp = &metav1.Time{}
			})},
			why: "there are no pods that are to be separated",
		},
		{
			name: "from itself", objects: []runtime.Object{a, b, pod("x-1", "a", from("shop/x-1"))},
			why: "there are no pods that are to be separated",
		},
		{
			name: "from its node", objects: []runtime.Object{a, b, pod("x-1", "a", from("a"), because)},
			want: []string{"x-1: a → b (is to leave a: cache misses tripled)"},
		},
		{
			name: "from a node that it is not on", objects: []runtime.Object{a, b, pod("x-1", "a", from("b"))},
			why: "there are no pods that are to be separated",
		},
		{
			name: "from each other: one goes", objects: []runtime.Object{a, b, pod("x-1", "a", from("shop/y-1")), pod("y-1", "a", from("shop/x-1"))},
			want: []string{"x-1: a → b (is to be separated from shop/y-1)"},
		},
		{
			name:    "a request that makes no sense, beside one that does",
			objects: []runtime.Object{a, b, pod("x-1", "a", from("app=y")), pod("y-1", "a", from("a"))},
			want: []string{
				"y-1: a → b (is to leave a)",
				`shop/x-1: the request to separate it: metadata.annotations[rescheduling.muster.dev/separate-from]: Invalid value: "app=y": ` +
					"must be a pod, as in lab/noisy-1, or a node: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, " +
					"'-' or '.', and must start and end with an " +
					"alphanumeric character (e.g. 'example.com', regex used for validation is " +
					"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			plan, why := separate(situation(t, test.objects...))
			if diff := cmp.Diff(test.want, said(plan)); diff != "" {
				t.Errorf("the plan (-want +got):\n%s", diff)
			}
			if why != test.why {
				t.Errorf("why: %q, want %q", why, test.why)
			}
		})
	}
}
