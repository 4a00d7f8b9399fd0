package admission

import (
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/gang/record"
)

// RecordPolicy has the API server refuse to write the record of a start on a PodGroup: an annotation, which else anybody may
// forge who writes PodGroups. It lets those write one who may write the status of pods in all namespaces, as each muster does,
// and no tenant: so several beside one another need not know of each other.
//
// It looks at changes alone: a record counts if it names the UID of its PodGroup, which nobody knows who creates one, so that
// a backup may be restored with its annotations. Who takes a record away decides about its own gang.
func RecordPolicy(
	name string,
) (*admissionregistrationv1.ValidatingAdmissionPolicy, *admissionregistrationv1.ValidatingAdmissionPolicyBinding) {
	version, meta := admissionregistrationv1.SchemeGroupVersion.String(), metav1.ObjectMeta{Name: name}
	var rules []admissionregistrationv1.NamedRuleWithOperations
	for _, group := range []string{v1alpha1.GroupX, v1alpha1.GroupSigs} {
		rules = append(rules, admissionregistrationv1.NamedRuleWithOperations{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
			Rule: admissionregistrationv1.Rule{
				APIGroups: []string{group}, APIVersions: []string{"*"}, Resources: []string{resourcePodGroups},
				Scope: new(admissionregistrationv1.AllScopes),
			},
		}})
	}
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		TypeMeta: metav1.TypeMeta{APIVersion: version, Kind: "ValidatingAdmissionPolicy"}, ObjectMeta: meta,
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			FailurePolicy:    new(admissionregistrationv1.Fail),
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: rules},
			MatchConditions: []admissionregistrationv1.MatchCondition{
				{Name: "others", Expression: `!authorizer.group("").resource("pods").subresource("status").check("patch").allowed()`},
			},
			Validations: []admissionregistrationv1.Validation{{
				Expression: fmt.Sprintf(
					"object.metadata.?annotations[?%[1]q].orValue(\"\") in\n  [\"\", oldObject.metadata.?annotations[?%[1]q].orValue(\"\")]",
					record.Annotation,
				),
				Message: record.Annotation + ": only muster says that a gang was let go",
				Reason:  new(metav1.StatusReasonForbidden),
			}},
		},
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		TypeMeta: metav1.TypeMeta{APIVersion: version, Kind: "ValidatingAdmissionPolicyBinding"}, ObjectMeta: meta,
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}
	return policy, binding
}
