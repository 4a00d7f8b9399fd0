package admission

import (
	"slices"
	"testing"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

func TestPoliciesAreAboutEveryKindOfGroup(t *testing.T) {
	account, _ := AccountPolicy(Account{Name: "muster", Muster: true})
	var ruled []string
	for _, rule := range account.Spec.MatchConstraints.ResourceRules {
		if slices.Contains(rule.Resources, resourcePodGroups) {
			ruled = append(ruled, rule.APIGroups...)
		}
	}
	records, _ := RecordPolicy("muster-records")
	var kept []string
	for _, rule := range records.Spec.MatchConstraints.ResourceRules {
		kept = append(kept, rule.APIGroups...)
	}
	_, bindings := ManagedPolicy([]string{"default-scheduler"})
	var managed []string
	for _, binding := range bindings {
		if selector := binding.Spec.MatchResources.ObjectSelector; selector != nil {
			managed = append(managed, selector.MatchExpressions[0].Key)
		}
	}
	for _, label := range v1alpha1.GroupLabels() {
		if !slices.Contains(managed, label) {
			t.Errorf("pods that are labelled %s are not managed, pods of %q are", label, managed)
		}
		if apiGroup := v1alpha1.APIGroupOf(label); apiGroup != "" && !slices.Contains(ruled, apiGroup) {
			t.Errorf("the account is not bound in what it writes to PodGroups of %s, but of %q", apiGroup, ruled)
		}
		if apiGroup := v1alpha1.APIGroupOf(label); apiGroup != "" && !slices.Contains(kept, apiGroup) {
			t.Errorf("records on PodGroups of %s are not kept from others, but of %q", apiGroup, kept)
		}
	}
}
