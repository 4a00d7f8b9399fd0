// Package faulttest runs a few seeds of a campaign in a test, and holds its scripts against the faults that it declares.
package faulttest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"muster.dev/muster/e2e/campaigns/faultcampaign"
)

// FindsNothing fails when some seeds of a campaign find something. How much happens in them depends on the machine, and is
// not asked for, apart from the faults, which the scripts have whatever happens. It is for the long tier.
func FindsNothing(t *testing.T, c faultcampaign.Campaign, first uint64, seeds int) {
	t.Helper()
	if testing.Short() {
		t.Skip("a campaign on a control plane: make test-long runs this")
	}
	report, err := c.Perform(t.Context(), faultcampaign.Options{Seeds: seeds, First: first, Lanes: 1}, t.TempDir(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	if err := report.Err(); err != nil {
		t.Error(err)
	}
	if len(report.Faults) == 0 {
		t.Error("no fault was made")
	}
}

// AllAreDrawn fails for each constant of type faultcampaign.Fault of the package under test that is
// missing among the drawn faults. A fault that no script ever has proves nothing.
func AllAreDrawn(t *testing.T, drawn map[faultcampaign.Fault]bool) {
	t.Helper()
	declared := declared(t)
	if len(declared) == 0 {
		t.Error("the package declares no fault")
	}
	for _, f := range declared {
		if !drawn[f] {
			t.Errorf("never drawn: %q", f)
		}
	}
}

// APIFaultsAreDrawn fails for each fault of calls to the API server that is missing among the drawn faults.
func APIFaultsAreDrawn(t *testing.T, drawn map[faultcampaign.Fault]bool) {
	t.Helper()
	for _, f := range faultcampaign.APIFaults() {
		if !drawn[f] {
			t.Errorf("never drawn: %q", f)
		}
	}
}

// declared are the constants of type faultcampaign.Fault in the directory of the test.
func declared(t *testing.T) []faultcampaign.Fault {
	t.Helper()
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var faults []faultcampaign.Fault
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, is := n.(*ast.ValueSpec)
			if !is || !isFault(spec.Type) {
				return true
			}
			for _, value := range spec.Values {
				if literal, is := value.(*ast.BasicLit); is {
					text, err := strconv.Unquote(literal.Value)
					if err != nil {
						t.Fatal(err)
					}
					faults = append(faults, faultcampaign.Fault(text))
				}
			}
			return true
		})
	}
	slices.Sort(faults)
	return slices.Compact(faults)
}

func isFault(kind ast.Expr) bool {
	selector, is := kind.(*ast.SelectorExpr)
	return is && selector.Sel.Name == "Fault"
}
