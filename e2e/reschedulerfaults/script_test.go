package reschedulerfaults

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/api/rescheduling/v1alpha1"
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

func TestEveryShapeIsDrawn(t *testing.T) {
	policies, modes := sets.New[v1alpha1.Policy](), sets.New[v1alpha1.Mode]()
	kinds, stay, claims := sets.New[kind](), sets.New[guard](), map[bool]bool{}
	for seed := range uint64(200) {
		s := write(seed)
		policies, modes = policies.Union(s.settings.policies), modes.Insert(s.settings.mode)
		if s.settings.gathers() && s.settings.spreads() {
			t.Errorf("seed %d: policies that undo each other's moves are on: %v", seed, sets.List(s.settings.policies))
		}
		for _, w := range s.workloads {
			kinds, stay = kinds.Insert(w.kind), stay.Insert(w.stays)
			if w.claims {
				claims[s.settings.allowClaims] = true
			}
		}
	}
	if !policies.HasAll(v1alpha1.Policies()...) || !modes.HasAll(v1alpha1.Auto, v1alpha1.Approve) || len(claims) < 2 ||
		!kinds.HasAll(replicaSet, statefulSet, deployment, batch) || !stay.HasAll(append(guards(), "", failsByIt)...) {
		t.Errorf("policies %v, modes %v, kinds %v, guards %v, pods with claims that may be moved or not %v: some are missing",
			sets.List(policies), sets.List(modes), sets.List(kinds), sets.List(stay), claims)
	}
}
