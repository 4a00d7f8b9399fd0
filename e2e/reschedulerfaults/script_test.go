package reschedulerfaults

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"muster.dev/muster/e2e/faultcampaign"
	"muster.dev/muster/e2e/faultcampaign/faulttest"
)

func TestAScriptIsAFunctionOfItsSeed(t *testing.T) {
	for seed := range uint64(50) {
		all := cmp.AllowUnexported(script{}, settings{}, budgets{}, rate{}, event{}, replicas{})
		if diff := cmp.Diff(write(seed), write(seed), all, cmpopts.IgnoreFields(event{}, "do")); diff != "" {
			t.Fatalf("seed %d:\n%s", seed, diff)
		}
	}
}

func TestEveryFaultIsDrawn(t *testing.T) {
	drawn, verbs, inPlans := map[faultcampaign.Fault]bool{}, map[faultcampaign.Verb]bool{}, 0
	for seed := range uint64(400) {
		s := write(seed)
		for _, e := range s.events {
			drawn[e.fault] = true
			if e.moment != anyTime {
				inPlans++
			}
		}
		for v, odds := range s.trouble.Odds {
			verbs[v] = true
			for f := range odds {
				drawn[f] = true
			}
		}
	}
	faulttest.AllAreDrawn(t, drawn)
	faulttest.APIFaultsAreDrawn(t, drawn)
	if len(verbs) != 7 || inPlans < 400 {
		t.Errorf("calls of %d verbs are spoiled, and %d events come in the middle of a plan: too few", len(verbs), inPlans)
	}
}
