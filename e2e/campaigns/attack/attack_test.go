package attack

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

func TestNoAttackSucceeds(t *testing.T) {
	if testing.Short() {
		t.Skip("attacks on a control plane, one after the other: make test-long runs this")
	}
	dir, err := os.MkdirTemp("", "muster-attack-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("logs: %s", dir)
		} else if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	report, err := Run(t.Context(), All(), dir, t.Output(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	if report.Tried != len(All()) || len(report.Succeeded) > 0 {
		t.Errorf("%d of %d attacks were tried; these succeeded: %v", report.Tried, len(All()), report.Succeeded)
	}
}

func TestEachCheckTellsASuccess(t *testing.T) {
	for _, a := range All() {
		successes := a.successes()
		if len(successes) == 0 {
			t.Errorf("%s: no outcome is known that is a success", a.Name)
		}
		for i, v := range successes {
			if !v.succeeded {
				t.Errorf("%s: of outcome %d, which is a success, the check says: %s", a.Name, i, v.why)
			}
		}
	}
}

func TestAttacksSayWhoTriesWhat(t *testing.T) {
	name := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)+$`)
	known := map[string]bool{}
	for _, a := range All() {
		if !name.MatchString(a.Name) || known[a.Name] || a.Tries == "" || !slices.Contains([]Attacker{Caller, Tenant, Account, Page}, a.By) {
			t.Errorf("attack %+v has no name of its own, or does not say who tries what", a)
		}
		known[a.Name] = true
	}
}
