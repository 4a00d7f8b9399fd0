package gangfaults

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"muster.dev/muster/e2e/faultcampaign"
)

func TestAScriptIsAFunctionOfItsSeed(t *testing.T) {
	for seed := range uint64(50) {
		diff := cmp.Diff(write(seed), write(seed), cmp.AllowUnexported(script{}, event{}, moment{}, gang{}), cmpopts.IgnoreFields(event{}, "do"))
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
	all := append([]faultcampaign.Fault{
		schedulerKilled, musterKilled, musterKilledAt, memberDeleted, minMemberEdited, podGroupDeleted, podGroupLate,
		nodeLost, nodeCordoned, urgentPod, competitor, preemptor, membersFinishing,
		callDelayed, callTooLate, callCut, answerLost, callRepeated, callElsewhere,
	}, faultcampaign.APIFaults()...)
	if missing := slices.DeleteFunc(all, func(f faultcampaign.Fault) bool { return drawn[f] }); len(missing) > 0 {
		t.Errorf("never drawn: %q", missing)
	}
	if held < 100 || atCommit < 10 {
		t.Errorf("%d events come while members are held, %d when they are bound: too few", held, atCommit)
	}
}
