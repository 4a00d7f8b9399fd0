package gangfaults

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestAScriptIsAFunctionOfItsSeed(t *testing.T) {
	for seed := range uint64(50) {
		diff := cmp.Diff(write(seed), write(seed), cmp.AllowUnexported(script{}, event{}, moment{}, gang{}, trouble{}, delay{}), cmpopts.IgnoreFields(event{}, "do"))
		if diff != "" {
			t.Fatalf("seed %d:\n%s", seed, diff)
		}
	}
}

func TestEveryFaultIsDrawn(t *testing.T) {
	drawn := map[fault]bool{}
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
		for _, odds := range s.trouble.odds {
			for f := range odds {
				drawn[f] = true
			}
		}
		for _, kept := range s.trouble.kept {
			drawn[kept.fault] = true
		}
	}
	all := []fault{
		schedulerKilled, musterKilled, musterKilledAt, memberDeleted, minMemberEdited, podGroupDeleted, podGroupLate,
		nodeLost, nodeCordoned, urgentPod, competitor, preemptor, membersFinishing,
		callDelayed, callTooLate, callCut, answerLost, callRepeated, callElsewhere,
		apiConflict, apiBusy, apiError, apiUnavailable, apiSilent, apiLost,
	}
	if missing := slices.DeleteFunc(all, func(f fault) bool { return drawn[f] }); len(missing) > 0 {
		t.Errorf("never drawn: %q", missing)
	}
	if held < 100 || atCommit < 10 {
		t.Errorf("%d events come while members are held, %d when they are bound: too few", held, atCommit)
	}
}

func TestTroubleIsAFunctionOfTheCall(t *testing.T) {
	trouble := newTrouble(1)
	trouble.add(bindCall, callCut, 0.5)
	spoiled := 0
	for i := range 1000 {
		about := fmt.Sprint("pod-", i)
		f, d := trouble.of(bindCall, about, 0)
		again, as := trouble.of(bindCall, about, 0)
		if f != again || d != as {
			t.Fatalf("%q for %s, and %q for %s", f, d, again, as)
		}
		if f == callCut {
			spoiled++
		}
		if f, _ := trouble.of(filterCall, about, 0); f != "" {
			t.Fatalf("%q happens to a filter call", f)
		}
	}
	if spoiled < 400 || spoiled > 600 {
		t.Errorf("%d of 1000 calls are spoiled, want half of them", spoiled)
	}
}
