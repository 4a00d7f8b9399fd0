package gangfaults

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"muster.dev/muster/e2e/faultcampaign"
	"muster.dev/muster/e2e/faultcampaign/faulttest"
)

func TestAScriptIsAFunctionOfItsSeed(t *testing.T) {
	for seed := range uint64(50) {
		diff := cmp.Diff(
			write(seed),
			write(seed),
			cmp.AllowUnexported(script{}, setup{}, event{}, moment{}, gang{}),
			cmpopts.IgnoreFields(event{}, "do"),
		)
		if diff != "" {
			t.Fatalf("seed %d:\n%s", seed, diff)
		}
	}
}

func TestEveryFaultIsDrawn(t *testing.T) {
	drawn := map[faultcampaign.Fault]bool{}
	held, atCommit := 0, 0
	for seed := range uint64(300) {
		s := write(seed)
		for _, e := range s.events {
			drawn[e.fault] = true
			if e.moment.held > 0 {
				held++
			}
			if e.moment.committed {
				atCommit++
			}
		}
		for _, odds := range s.trouble.Odds {
			for f := range odds {
				drawn[f] = true
			}
		}
		for _, kept := range s.trouble.First {
			drawn[kept.Fault] = true
		}
	}
	faulttest.AllAreDrawn(t, drawn)
	faulttest.APIFaultsAreDrawn(t, drawn)
	if held < 100 || atCommit < 10 {
		t.Errorf("%d events come while members are held, %d when they are bound: too few", held, atCommit)
	}
}
