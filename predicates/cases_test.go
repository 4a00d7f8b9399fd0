package predicates

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryPredicateAndScoreHasCasesOfItsOwn holds each to a table of its rules: the tests that all
// have in common say little of what it decides.
func TestEveryPredicateAndScoreHasCasesOfItsOwn(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var tests strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tests.Write(text)
	}
	tested := func(helper, test string) bool {
		return strings.Contains(tests.String(), helper+",") || strings.Contains(tests.String(), "func "+test+"(")
	}
	for _, r := range registrations() {
		if helper := "checkVerdicts(t, config." + r.name; r.filter != nil && !tested(helper, "Test"+r.name) {
			t.Errorf("the predicate %s has no test: nothing calls %s", r.name, helper)
		}
		if helper := "checkRates(t, config." + r.name; r.score != nil && !tested(helper, "Test"+r.name+"Score") {
			t.Errorf("the score %s has no test: nothing calls %s", r.name, helper)
		}
	}
}
