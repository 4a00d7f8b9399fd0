package admission

import (
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

// schedulerPolicyName is that of the policy and of its binding.
const schedulerPolicyName = PolicyName + "-scheduler"

// Assignable are the schedulers that pods can be given to: what has no scheduler is default-scheduler's already.
func Assignable(schedulers []string) []string {
	return slices.DeleteFunc(slices.Clone(schedulers), func(name string) bool { return name == corev1.DefaultSchedulerName })
}

// SchedulerPolicy has the API server give the pods of namespaces that are labelled with one of these schedulers to it when
// they are created, and denies nothing. A pod that names another scheduler than default-scheduler keeps it, and so do
// those of DaemonSets, of what a cluster needs to work, and of muster itself, which must not wait for itself.
func SchedulerPolicy(
	schedulers []string,
) (*admissionregistrationv1.MutatingAdmissionPolicy, *admissionregistrationv1.MutatingAdmissionPolicyBinding) {
	named := fmt.Sprintf(`namespaceObject.metadata.?labels[?%q].orValue("")`, v1alpha1.LabelScheduler)
	policy := &admissionregistrationv1.MutatingAdmissionPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: "MutatingAdmissionPolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: schedulerPolicyName},
		Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			MatchConstraints: createdPods(), // the name cannot be changed later
			MatchConditions: append([]admissionregistrationv1.MatchCondition{
				{Name: "names-no-scheduler", Expression: fmt.Sprintf("object.spec.schedulerName == %q", corev1.DefaultSchedulerName)},
				{Name: "of-a-labelled-namespace", Expression: named + " in " + celList(schedulers)},
				{Name: "without-a-node", Expression: "!has(object.spec.nodeName)"},
				{Name: "not-of-muster", Expression: fmt.Sprintf(`!(object.metadata.?labels[?%q].orValue("") in %s)`,
					"app.kubernetes.io/name", celList([]string{"muster", "muster-rescheduler"}))},
			}, notToBePutOff()...),
			Mutations: []admissionregistrationv1.Mutation{{
				PatchType: admissionregistrationv1.PatchTypeApplyConfiguration,
				ApplyConfiguration: &admissionregistrationv1.ApplyConfiguration{
					Expression: "Object{spec: Object.spec{schedulerName:\n  " + named + "}}",
				},
			}},
			FailurePolicy: new(admissionregistrationv1.Ignore),
			// What a webhook adds later, such as the class of the system, counts.
			ReinvocationPolicy: admissionregistrationv1.IfNeededReinvocationPolicy,
		},
	}
	binding := &admissionregistrationv1.MutatingAdmissionPolicyBinding{
		TypeMeta: metav1.TypeMeta{
			APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: "MutatingAdmissionPolicyBinding",
		},
		ObjectMeta: metav1.ObjectMeta{Name: schedulerPolicyName},
		Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{
			PolicyName: schedulerPolicyName,
			MatchResources: &admissionregistrationv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
				MatchExpressions: []metav1.LabelSelectorRequirement{{Key: v1alpha1.LabelScheduler, Operator: metav1.LabelSelectorOpExists}},
			}},
		},
	}
	return policy, binding
}
