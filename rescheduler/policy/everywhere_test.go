package policy

import (
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.dev/muster/api/rescheduling/v1alpha1"
)

// TestEveryPolicyIsKnownWhereverPoliciesAreListed names what a new policy is easily left out of.
func TestEveryPolicyIsKnownWhereverPoliciesAreListed(t *testing.T) {
	for page, says := range map[string]func(policy string) []string{
		"../../docs/concepts/rescheduling.md": func(policy string) []string { return []string{"| " + policy + " |"} },
		"../../docs/glossary.md":              func(policy string) []string { return []string{" " + policy + ",", " " + policy + " |"} },
		"../../cmd/muster/plan.go":            func(policy string) []string { return []string{policy + ","} },
		"../../charts/muster/crds/rescheduling.muster.dev_reschedulingplans.yaml": func(policy string) []string {
			return []string{"- " + policy + "\n"}
		},
	} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range Names() {
			if !slices.ContainsFunc(says(string(name)), func(words string) bool { return strings.Contains(string(text), words) }) {
				t.Errorf("%s does not name the policy %s", page, name)
			}
		}
	}
	for _, name := range Names() {
		_, err := v1alpha1.Decode(&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": v1alpha1.Group + "/" + v1alpha1.Version, "kind": v1alpha1.Kind, "spec": map[string]any{"policy": string(name)},
		}})
		if err == nil || strings.Contains(err.Error(), "spec.policy") {
			t.Errorf("a plan of %s is read with error %v, want errors about other fields only", name, err)
		}
	}
}
