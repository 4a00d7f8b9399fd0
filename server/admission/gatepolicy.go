package admission

import (
	"encoding/json"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/scheduling/v1alpha1"
)

// PolicyName is the name of the policy that gates members, and of its binding; the names of the other policies begin
// with it.
const PolicyName = "muster"

// Gated lists the schedulers whose pods are gated when they are created: members of gangs, and pods of no group
// that are opted in.
func Gated(cfg *config.Configuration) (ofMembers, ofPods []string) {
	for i := range cfg.Profiles {
		switch p := &cfg.Profiles[i]; p.Gates {
		case config.GatesUntilPlace:
			ofPods = append(ofPods, p.SchedulerName)
			ofMembers = append(ofMembers, p.SchedulerName)
		case config.GatesUntilMembers:
			ofMembers = append(ofMembers, p.SchedulerName)
		case config.GatesNever:
		}
	}
	return ofMembers, ofPods
}

// GatePolicy is by what the API server itself does as the webhook does: it puts a scheduling
// gate on the members of gangs of these schedulers when they are created, and denies nothing.
// The policy is in force by its binding.
func GatePolicy(
	schedulers []string,
) (*admissionregistrationv1.MutatingAdmissionPolicy, *admissionregistrationv1.MutatingAdmissionPolicyBinding) {
	policy := gatingPolicy(PolicyName, v1alpha1.SchedulingGate, []admissionregistrationv1.MatchCondition{
		{Name: "scheduler", Expression: "object.spec.schedulerName in " + celList(schedulers)},
		{Name: "member", Expression: isMember()},
	})
	binding := &admissionregistrationv1.MutatingAdmissionPolicyBinding{
		TypeMeta: metav1.TypeMeta{
			APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: "MutatingAdmissionPolicyBinding",
		},
		ObjectMeta: metav1.ObjectMeta{Name: PolicyName},
		Spec:       admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: PolicyName},
	}
	return policy, binding
}

// isMember says that a pod is a member of a gang.
func isMember() string {
	return celList(v1alpha1.GroupLabels()) + ".exists(label,\n" + `  object.metadata.?labels[?label].orValue("") != "") ||` + "\n" +
		// What cannot be a name makes no member, and nobody would lift the gate.
		fmt.Sprintf(`object.metadata.?annotations[?%q].orValue("").matches("^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$")`,
			v1alpha1.AnnotationKoordinatorName)
}

// gatingPolicy puts a gate on created pods that meet conditions.
func gatingPolicy(
	name, gate string, of []admissionregistrationv1.MatchCondition,
) *admissionregistrationv1.MutatingAdmissionPolicy {
	return &admissionregistrationv1.MutatingAdmissionPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: "MutatingAdmissionPolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			MatchConstraints: createdPods(), // gates cannot be added later
			MatchConditions: append(of,
				admissionregistrationv1.MatchCondition{Name: "not-of-kubernetes-own-gangs", Expression: "!has(object.spec.schedulingGroup)"},
				admissionregistrationv1.MatchCondition{Name: "without-a-node", Expression: "!has(object.spec.nodeName)"},
				// A change has all of admission run again: that the pod has the gate by then costs least if it is seen here.
				admissionregistrationv1.MatchCondition{
					Name: "without-the-gate",
					Expression: fmt.Sprintf(
						"!has(object.spec.schedulingGates) ||\n  !object.spec.schedulingGates.exists(gate, gate.name == %q)", gate,
					),
				},
			),
			Mutations:     []admissionregistrationv1.Mutation{apply(addGate(gate))},
			FailurePolicy: new(admissionregistrationv1.Ignore),
			// A gate that a webhook takes away is put back. A label that one adds comes too late: the API server runs a policy again
			// only for a pod that it ran for before.
			ReinvocationPolicy: admissionregistrationv1.IfNeededReinvocationPolicy,
		},
	}
}

// addGate adds a gate to a pod. The list is a map by name: other gates stay.
func addGate(gate string) string {
	return fmt.Sprintf("Object{spec: Object.spec{schedulingGates: [\n  Object.spec.schedulingGates{name: %q}]}}", gate)
}

// createdPods are the pods that are being created.
func createdPods() *admissionregistrationv1.MatchResources {
	return &admissionregistrationv1.MatchResources{
		ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
			RuleWithOperations: admissionregistrationv1.RuleWithOperations{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{corev1.GroupName}, APIVersions: []string{"v1"}, Resources: []string{"pods"},
					Scope: new(admissionregistrationv1.NamespacedScope),
				},
			},
		}},
	}
}

// celList is a list of strings in CEL, which has JSON's form of them.
func celList[S ~string](of []S) string {
	text, _ := json.Marshal(of) // of strings it always succeeds
	return string(text)
}
