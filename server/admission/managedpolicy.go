package admission

import (
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

// managedPolicyName is the name of the policy; the names of its bindings begin with it.
const managedPolicyName = "muster-managed"

// ManagedPolicy has the API server make pods of these schedulers managed when they are created:
// the first container asks for the resources that have kube-scheduler ask muster. It does so for
// members of gangs and in namespaces that are labelled, a binding for each, and denies nothing.
func ManagedPolicy(
	schedulers []string,
) (*admissionregistrationv1.MutatingAdmissionPolicy, []*admissionregistrationv1.MutatingAdmissionPolicyBinding) {
	policy := &admissionregistrationv1.MutatingAdmissionPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: "MutatingAdmissionPolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: managedPolicyName},
		Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			MatchConstraints: createdPods(),
			MatchConditions: []admissionregistrationv1.MatchCondition{
				{Name: "scheduler", Expression: "object.spec.schedulerName in " + celList(schedulers)},
				{Name: "without-a-node", Expression: "!has(object.spec.nodeName)"},
				// A change has all of admission run again: what has been done is seen here.
				{Name: "not-managed", Expression: "!" + celList([]corev1.ResourceName{v1alpha1.ResourceManaged, v1alpha1.ResourceBound}) +
					".all(resource,\n  object.spec.containers[0].?resources.?requests[?resource].hasValue())"},
			},
			Mutations:     []admissionregistrationv1.Mutation{apply(manage())},
			FailurePolicy: new(admissionregistrationv1.Ignore),
			// As for gates: what a webhook takes away is put back, and the label of a gang that one adds comes too late.
			ReinvocationPolicy: admissionregistrationv1.IfNeededReinvocationPolicy,
		},
	}
	bindings := []*admissionregistrationv1.MutatingAdmissionPolicyBinding{
		managedBinding("namespaces", &admissionregistrationv1.MatchResources{
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{v1alpha1.LabelManaged: "true"}},
		}),
	}
	for _, gang := range []struct{ name, label string }{
		{"gangs-x-k8s-io", v1alpha1.LabelX}, {"gangs-sigs-k8s-io", v1alpha1.LabelSigs}, {"gangs", v1alpha1.LabelMuster},
	} {
		bindings = append(bindings, managedBinding(gang.name, &admissionregistrationv1.MatchResources{
			ObjectSelector: &metav1.LabelSelector{
				MatchExpressions: []metav1.LabelSelectorRequirement{{Key: gang.label, Operator: metav1.LabelSelectorOpExists}},
			},
		}))
	}
	return policy, bindings
}

// manage has a pod ask for the resources. Containers are a map by name: of the first one nothing else changes. Requests
// must equal limits.
func manage() string {
	return fmt.Sprintf(`Object{spec: Object.spec{containers: [Object.spec.containers{
  name: object.spec.containers[0].name,
  resources: Object.spec.containers.resources{
    limits: {%[1]q: "1", %[2]q: "1"},
    requests: {%[1]q: "1", %[2]q: "1"}}}]}}`, v1alpha1.ResourceManaged, v1alpha1.ResourceBound)
}

// managedBinding puts the policy in force for what it matches.
func managedBinding(name string, matches *admissionregistrationv1.MatchResources) *admissionregistrationv1.MutatingAdmissionPolicyBinding {
	return &admissionregistrationv1.MutatingAdmissionPolicyBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: "MutatingAdmissionPolicyBinding"},
		ObjectMeta: metav1.ObjectMeta{Name: managedPolicyName + "-" + name},
		Spec:       admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: managedPolicyName, MatchResources: matches},
	}
}
