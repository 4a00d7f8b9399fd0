package reschedulerfaults

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestAScriptIsAFunctionOfItsSeed(t *testing.T) {
	for seed := range uint64(50) {
		all := cmp.AllowUnexported(script{}, settings{}, budgets{}, rate{}, event{}, replicas{}, trouble{})
		if diff := cmp.Diff(write(seed), write(seed), all, cmpopts.IgnoreFields(event{}, "do")); diff != "" {
			t.Fatalf("seed %d:\n%s", seed, diff)
		}
	}
}

func TestEveryFaultIsDrawn(t *testing.T) {
	drawn, verbs, inPlans := map[fault]bool{}, map[verb]bool{}, 0
	for seed := range uint64(400) {
		s := write(seed)
		for _, e := range s.events {
			drawn[e.fault] = true
			if e.moment != anyTime {
				inPlans++
			}
		}
		for v, odds := range s.trouble.odds {
			verbs[v] = true
			for f := range odds {
				drawn[f] = true
			}
		}
	}
	all := []fault{
		schedulerKilled, musterKilled, musterFrozen, reschedulerKilled, reschedulerFrozen, victimDeleted, workloadScaled, workloadDeleted,
		nodeLost, nodeCordoned, nodeAdded, targetClosed, planDeleted, planEdited, thief, preemptor, tierDown, evictionForbidden, planForbidden,
		apiConflict, apiBusy, apiError, apiUnavailable, apiSilent, apiLost,
	}
	if missing := slices.DeleteFunc(all, func(f fault) bool { return drawn[f] }); len(missing) > 0 {
		t.Errorf("never drawn: %q", missing)
	}
	if len(verbs) != 6 || inPlans < 400 {
		t.Errorf("calls of %d verbs are spoiled, and %d events come in the middle of a plan: too few", len(verbs), inPlans)
	}
}

func TestTroubleIsAFunctionOfTheCall(t *testing.T) {
	trouble := newTrouble(1)
	trouble.add(evictionCall, apiBusy, 0.5)
	spoiled := 0
	for i := range 1000 {
		about := fmt.Sprint("pod-", i)
		f := trouble.of(evictionCall, about, 0)
		if again := trouble.of(evictionCall, about, 0); f != again {
			t.Fatalf("%q, and then %q", f, again)
		}
		if f == apiBusy {
			spoiled++
		}
		if f := trouble.of(lease, about, 0); f != "" {
			t.Fatalf("%q happens to another verb", f)
		}
	}
	if spoiled < 400 || spoiled > 600 {
		t.Errorf("%d of 1000 calls are spoiled, want half of them", spoiled)
	}
}
