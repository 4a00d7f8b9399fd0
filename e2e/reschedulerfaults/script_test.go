package reschedulerfaults

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"muster.dev/muster/e2e/faultcampaign"
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
	all := append([]faultcampaign.Fault{
		schedulerKilled, musterKilled, musterFrozen, reschedulerKilled, reschedulerFrozen, victimDeleted, workloadScaled, workloadDeleted,
		nodeLost, nodeCordoned, nodeAdded, targetClosed, planDeleted, planEdited, thief, preemptor, tierDown, evictionForbidden, planForbidden,
	}, faultcampaign.APIFaults()...)
	if missing := slices.DeleteFunc(all, func(f faultcampaign.Fault) bool { return drawn[f] }); len(missing) > 0 {
		t.Errorf("never drawn: %q", missing)
	}
	if len(verbs) != 6 || inPlans < 400 {
		t.Errorf("calls of %d verbs are spoiled, and %d events come in the middle of a plan: too few", len(verbs), inPlans)
	}
}
