package admission

import (
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

// aheadPolicyName is the name of the policy; the names of its bindings begin with it.
const aheadPolicyName = PolicyName + "-ahead"

// What keeps a pod from being gated, though it is opted in: where it runs, or that it runs, is for nobody to put off.
const kindDaemonSet = "DaemonSet"

// systemClasses are the priority classes of what a cluster needs to work.
func systemClasses() []string { return []string{"system-node-critical", "system-cluster-critical"} }

// notToBePutOff are the conditions of pods that are left alone, though somebody has opted in for them.
func notToBePutOff() []admissionregistrationv1.MatchCondition {
	return []admissionregistrationv1.MatchCondition{
		{Name: "not-of-a-daemonset", Expression: fmt.Sprintf(
			"!object.metadata.?ownerReferences.orValue([]).exists(owner, owner.kind == %q)", kindDaemonSet)},
		{Name: "not-of-the-system", Expression: `!(object.spec.?priorityClassName.orValue("") in ` + celList(systemClasses()) + ")"},
	}
}

// AheadPolicy has the API server gate the pods of no group of these schedulers that are opted in to be placed ahead,
// and denies nothing. A pod's own label decides, and without one that of its namespace: a binding for each.
func AheadPolicy(
	schedulers []string,
) (*admissionregistrationv1.MutatingAdmissionPolicy, []*admissionregistrationv1.MutatingAdmissionPolicyBinding) {
	policy := gatingPolicy(aheadPolicyName, v1alpha1.AheadGate, append([]admissionregistrationv1.MatchCondition{
		{Name: "scheduler", Expression: "object.spec.schedulerName in " + celList(schedulers)},
		{Name: "no-member", Expression: "!(" + isMember() + ")"},
	}, notToBePutOff()...))
	binding := func(name string, matches *admissionregistrationv1.MatchResources) *admissionregistrationv1.MutatingAdmissionPolicyBinding {
		return &admissionregistrationv1.MutatingAdmissionPolicyBinding{
			TypeMeta: metav1.TypeMeta{
				APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: "MutatingAdmissionPolicyBinding",
			},
			ObjectMeta: metav1.ObjectMeta{Name: aheadPolicyName + "-" + name},
			Spec:       admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: aheadPolicyName, MatchResources: matches},
		}
	}
	optedIn := &metav1.LabelSelector{MatchLabels: map[string]string{v1alpha1.LabelAhead: "true"}}
	saysNothing := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: v1alpha1.LabelAhead, Operator: metav1.LabelSelectorOpDoesNotExist},
	}}
	return policy, []*admissionregistrationv1.MutatingAdmissionPolicyBinding{
		binding("pods", &admissionregistrationv1.MatchResources{ObjectSelector: optedIn}),
		binding("namespaces", &admissionregistrationv1.MatchResources{NamespaceSelector: optedIn, ObjectSelector: saysNothing}),
	}
}

// mayBeOptedIn reports whether AheadPolicy gates a pod like this one, whatever its scheduler and its node. What the
// label of its namespace says, the selectors of a webhook have to tell.
func mayBeOptedIn(pod *corev1.Pod) bool {
	if label, labelled := pod.Labels[v1alpha1.LabelAhead]; labelled && label != "true" {
		return false
	}
	for i := range pod.OwnerReferences {
		if pod.OwnerReferences[i].Kind == kindDaemonSet {
			return false
		}
	}
	return !slices.Contains(systemClasses(), pod.Spec.PriorityClassName)
}
