package predicates

import (
	"cmp"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/cluster"
)

func TestInterPodAffinityDependsOnANamespaceOnlyIfATermMayTell(t *testing.T) {
	selecting := func(operator metav1.LabelSelectorOperator, values ...string) corev1.PodAffinityTerm {
		return inNamespacesThat(aboutPods("zone", "app", "web"), &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "team", Operator: operator, Values: values}},
		})
	}
	isRed, isNotRed := selecting(metav1.LabelSelectorOpIn, "red"), selecting(metav1.LabelSelectorOpNotIn, "red")
	for _, test := range []struct {
		name          string
		pod           *corev1.Pod
		before, after *corev1.Namespace // nil when there is none
		want          bool
	}{
		{
			"no term has a namespace selector", pod(keepingOff(aboutPods("zone", "app", "web"))), namespace("other"),
			namespace("other", "team", "red"), false,
		},
		{"a selector comes to match", pod(keepingOff(isRed)), namespace("other", "team", "blue"), namespace("other", "team", "red"), true},
		{"a selector does not match any more", pod(keepingTo(isRed)), namespace("other", "team", "red"), namespace("other"), true},
		{"a namespace comes that matches", pod(keepingOff(isRed)), nil, namespace("other", "team", "red"), true},
		{"a namespace goes that matched", pod(keepingOff(isRed)), namespace("other", "team", "red"), nil, true},
		{"a namespace comes that does not match", pod(keepingOff(isRed)), nil, namespace("other"), false},
		{
			"a selector matches as before", pod(keepingOff(isRed)), namespace("other", "team", "red"),
			namespace("other", "team", "red", "stage", "live"), false,
		},
		{
			"the namespace is named anyway", pod(keepingOff(inNamespaces(isRed, "other"))), namespace("other"),
			namespace("other", "team", "red"), false,
		},
		{"a selector by absence does not match any more", pod(keepingOff(isNotRed)), namespace("other"), namespace("other", "team", "red"), true},
		{
			"the term is about all namespaces", pod(keepingOff(inNamespacesThat(aboutPods("zone", "app", "web"), &metav1.LabelSelector{}))),
			namespace("other"), namespace("other", "team", "red"), false,
		},
		{
			"one of several terms has the selector", pod(keepingTo(aboutPods("zone")), keepingOff(aboutPods("zone"), isRed)), nil,
			namespace("other", "team", "red"), true,
		},
		{"the pod's own namespace is labelled", pod(), namespace("default"), namespace("default", "team", "red"), true},
		{"the pod's own namespace comes without labels", pod(), nil, namespace("default"), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCluster()
			if test.before != nil {
				if err := c.Set(test.before); err != nil {
					t.Fatal(err)
				}
			}
			before := c.Snapshot()
			var err error
			if test.after != nil {
				err = c.Set(test.after)
			} else {
				err = c.Delete(test.before)
			}
			if err != nil {
				t.Fatal(err)
			}
			check := interPodAffinity{}.For(cluster.NewPod(test.pod), before).(Selective)
			name := types.NamespacedName{Name: cmp.Or(test.after, test.before).Name}
			if got := check.DependsOn(cluster.AspectNamespace, name, before.Objects, c.Snapshot().Objects); got != test.want {
				t.Errorf("it depends on it: %v", got)
			}
		})
	}
}
