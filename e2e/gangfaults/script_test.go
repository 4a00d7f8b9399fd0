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
		for _, write := range []func(uint64) *script{write, writeAhead} {
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
}

func TestEveryFaultIsDrawn(t *testing.T) {
	drawn := map[faultcampaign.Fault]bool{}
	held, atCommit, nominated, lifted := 0, 0, 0, 0
	for seed := range uint64(600) {
		s := write(seed / 2)
		if seed%2 == 1 {
			s = writeAhead(seed / 2)
		}
		for _, e := range s.events {
			drawn[e.fault] = true
			switch m := e.moment; {
			case m.held > 0:
				held++
			case m.committed:
				atCommit++
			case m.nominated > 0:
				nominated++
			case m.lifted > 0:
				lifted++
			}
		}
		for v, odds := range s.trouble.Odds {
			if (v == bindCall || v == filterCall || v == binding) && s.setup.plain > 0 {
				t.Errorf("seed %d has faults of %s, and the schedulers call nobody", s.seed, v)
			}
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
	if held < 100 || atCommit < 10 || nominated < 100 || lifted < 100 {
		t.Errorf(
			"%d events come while members are held, %d when they are bound, %d and %d when they are nominated and let go: too few", held, atCommit,
			nominated, lifted,
		)
	}
}
