package admission

import (
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/scheduling/v1alpha1"
)

// schedulerPolicyName names the policy and its binding.
const schedulerPolicyName = PolicyName + "-scheduler"

// Assignable are the schedulers that pods can be given to. What has no scheduler is default-scheduler's already, and pods
// that are placed ahead are for schedulers that know nothing of muster.
func Assignable(cfg *config.Configuration) (schedulers []string) {
	for i := range cfg.Profiles {
		p := &cfg.Profiles[i]
		if p.SchedulerName != corev1.DefaultSchedulerName && p.Gates != config.GatesUntilPlace {
			schedulers = append(schedulers, p.SchedulerName)
		}
	}
	return schedulers
}

// SchedulerPolicy has the API server give the pods of namespaces that are labelled with one of these schedulers to it when
// they are created, and denies nothing. A pod keeps its scheduler if the pod names another one than default-scheduler,
// belongs to a DaemonSet or to the components that a cluster needs to work, or is muster's own: muster must not wait for
// itself.
//
// The order of policies is not defined, and one whose conditions do not hold at its turn is not asked again. So this one
// also does what those would do that look at the scheduler: it gates members of gangs, and makes pods managed.
func SchedulerPolicy(
	schedulers, gated []string, managed bool,
) (*admissionregistrationv1.MutatingAdmissionPolicy, *admissionregistrationv1.MutatingAdmissionPolicyBinding) {
	mutations := []admissionregistrationv1.Mutation{
		apply(fmt.Sprintf("Object{spec: Object.spec{schedulerName:\n  namespaceObject.metadata.labels[%q]}}", v1alpha1.LabelScheduler)),
	}
	if len(gated) > 0 {
		mutations = append(mutations, apply(fmt.Sprintf(
			"namespaceObject.metadata.labels[%q] in %s &&\n  !has(object.spec.schedulingGroup) && (%s) ?\n%s : Object{}",
			v1alpha1.LabelScheduler, celList(gated), isMember(), addGate(v1alpha1.SchedulingGate),
		)))
	}
	if managed {
		mutations = append(mutations, apply(fmt.Sprintf(`namespaceObject.metadata.labels[?%q].orValue("") == "true" ||
%s.exists(label, object.metadata.?labels[?label].hasValue()) ?
%s : Object{}`, v1alpha1.LabelManaged, celList(v1alpha1.GroupLabels()), manage())))
	}
	policy := &admissionregistrationv1.MutatingAdmissionPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: "MutatingAdmissionPolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: schedulerPolicyName},
		Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			MatchConstraints: createdPods(), // the name cannot be changed later
			MatchConditions: append([]admissionregistrationv1.MatchCondition{
				{Name: "names-no-scheduler", Expression: fmt.Sprintf("object.spec.schedulerName == %q", corev1.DefaultSchedulerName)},
				{Name: "without-a-node", Expression: "!has(object.spec.nodeName)"},
				{Name: "not-of-muster", Expression: fmt.Sprintf(`!(object.metadata.?labels[?%q].orValue("") in %s)`,
					"app.kubernetes.io/name", celList([]string{"muster", "muster-rescheduler"}))},
			}, notToBePutOff()...),
			Mutations:          mutations,
			FailurePolicy:      new(admissionregistrationv1.Ignore),
			ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy, // the pod names a scheduler by then
		},
	}
	binding := &admissionregistrationv1.MutatingAdmissionPolicyBinding{
		TypeMeta: metav1.TypeMeta{
			APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: "MutatingAdmissionPolicyBinding",
		},
		ObjectMeta: metav1.ObjectMeta{Name: schedulerPolicyName},
		Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{
			PolicyName: schedulerPolicyName,
			// Conditions of a policy do not see the namespace.
			MatchResources: &admissionregistrationv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
				MatchExpressions: []metav1.LabelSelectorRequirement{
					{Key: v1alpha1.LabelScheduler, Operator: metav1.LabelSelectorOpIn, Values: schedulers},
				},
			}},
		},
	}
	return policy, binding
}

// apply changes a pod by an expression.
func apply(expression string) admissionregistrationv1.Mutation {
	return admissionregistrationv1.Mutation{
		PatchType:          admissionregistrationv1.PatchTypeApplyConfiguration,
		ApplyConfiguration: &admissionregistrationv1.ApplyConfiguration{Expression: expression},
	}
}
