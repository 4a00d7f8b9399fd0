package gangfaults

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/campaigns/faultcampaign"
	"muster.dev/muster/e2e/campaigns/faultcampaign/faulttest"
)

func TestGangsStartWholeOrNotAtAllWhateverGoesWrong(t *testing.T) {
	faulttest.FindsNothing(t, Campaign(), 11, 5)
}

func TestGangsThatClaimDevicesHoldNoneInVainWhateverGoesWrong(t *testing.T) {
	faulttest.FindsNothing(t, DeviceCampaign(), 11, 4)
}

func TestGangsStartWholeAheadOfPlainSchedulersWhateverGoesWrong(t *testing.T) {
	faulttest.FindsNothing(t, AheadCampaign(), 6, 3)
}

func TestKubernetesOwnGroupsAndTreesOfThemStartWholeWhateverGoesWrong(t *testing.T) {
	if release, err := binaries.Chosen(); err != nil || release == binaries.Release136 {
		t.Skipf("SKIP: Kubernetes 1.36 has no CompositePodGroups (%v)", err)
	}
	faulttest.FindsNothing(t, NativeCampaign(), 11, 5)
}

func TestMembersThatHaveToBeNearEachOtherAreWhateverGoesWrong(t *testing.T) {
	faulttest.FindsNothing(t, TopologyCampaign(), 11, 5)
}

func TestLargeGangsHaveRoomInTimeWhateverGoesWrong(t *testing.T) {
	faulttest.FindsNothing(t, BookingCampaign(), 9, 4)
}

func TestAScriptIsAFunctionOfItsSeed(t *testing.T) {
	for seed := range uint64(50) {
		for _, write := range []func(uint64) *script{write, writeAhead, writeNative, writeTopology, writeBooking} {
			diff := cmp.Diff(
				write(seed),
				write(seed),
				cmp.AllowUnexported(script{}, setup{}, event{}, moment{}, gang{}, tree{}, nearness{}, small{}),
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
	for seed := range uint64(1200) {
		s := []func(uint64) *script{write, writeAhead, writeNative, writeBooking}[seed%4](seed / 4)
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

func TestAWatchStandsStillWhileItsKindIsHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		traffic := newTraffic(t.Context(), &script{trouble: faultcampaign.NewTrouble(1)})
		const length = 3 * time.Second
		go traffic.holdBack(t.Context(), ofPods, length)
		synctest.Wait()
		began := time.Now()
		for _, test := range []struct {
			path string
			late time.Duration
		}{
			{"/api/v1/nodes?watch=true", 0},
			{"/api/v1/pods?watch=true", length},
			{"/api/v1/pods?watch=true", length}, // it is over
		} {
			r := httptest.NewRequest(http.MethodGet, test.path, nil)
			answer := httptest.NewRecorder()
			w := &faultcampaign.Stream{ResponseWriter: answer, Before: func() { traffic.shown(t.Context(), watched(r)) }}
			if _, err := w.Write([]byte("{}")); err != nil || answer.Body.String() != "{}" {
				t.Errorf("%s: wrote %q, error %v", test.path, answer.Body, err)
			}
			if took := time.Since(began); took != test.late {
				t.Errorf("%s is told after %s, want %s", test.path, took, test.late)
			}
		}
	})
	if kind := watched(httptest.NewRequest(http.MethodGet, "/api/v1/pods", nil)); kind != "" {
		t.Errorf("a list is a watch of %q", kind)
	}
}

func TestWritesOfMusterAreKnownByTheirPaths(t *testing.T) {
	for _, test := range []struct {
		method, path, body string
		verb               faultcampaign.Verb
		about              string
	}{
		{http.MethodPost, "/api/v1/namespaces/default/pods/p/binding", "{}", binding, "p"},
		{http.MethodPatch, "/api/v1/namespaces/default/pods/p/status", `{"status": {"nominatedNodeName": "a"}}`, nomination, "p"},
		{
			http.MethodPatch, "/api/v1/namespaces/default/pods/p/status", `{"metadata": {"annotations": {"muster.dev/woken": "now"}}}`,
			podChange, "p",
		},
		{http.MethodPatch, "/api/v1/namespaces/default/pods/p", "{}", gateLift, "p"},
		{http.MethodPatch, "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups/g/status", "{}", groupState, "g"},
		{http.MethodPatch, "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups/g", "{}", startOf, "g"},
		{http.MethodGet, "/api/v1/namespaces/default/pods/p", "", "", ""},
		{http.MethodGet, "/api/v1/pods", "", "", ""},
		{http.MethodPost, "/api/v1/namespaces/default/events", "{}", "", ""},
	} {
		v, about := writeOf(httptest.NewRequest(test.method, test.path, strings.NewReader(test.body)))
		if v != test.verb || v != "" && about != test.about {
			t.Errorf("%s %s is %q about %q, want %q about %q", test.method, test.path, v, about, test.verb, test.about)
		}
	}
}

func TestAMomentIsAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		traffic := newTraffic(t.Context(), &script{trouble: faultcampaign.NewTrouble(1)})
		come := make(chan moment, 3)
		for _, m := range []moment{{gang: "g", held: 2}, {gang: "g", committed: true}, {}} {
			go func() {
				traffic.await(t.Context(), m)
				come <- m
			}()
		}
		next := func(want moment) {
			t.Helper()
			synctest.Wait()
			select {
			case got := <-come:
				if got != want {
					t.Errorf("%+v has come, want %+v", got, want)
				}
			default:
				t.Errorf("%+v has not come", want)
			}
		}
		next(moment{})
		traffic.begin("g-0")
		traffic.begin("h-0")
		synctest.Wait()
		if len(come) > 0 {
			t.Errorf("%+v has come too early", <-come)
		}
		traffic.begin("g-1")
		next(moment{gang: "g", held: 2})
		traffic.let("g-1")
		next(moment{gang: "g", committed: true})
		over, end := context.WithCancel(t.Context())
		end()
		traffic.await(over, moment{gang: "never", held: 1})
	})
}

func TestACallLastsUntilItsPodIsLetGo(t *testing.T) {
	traffic := newTraffic(t.Context(), &script{trouble: faultcampaign.NewTrouble(1)})
	first, second := traffic.begin("g-0"), traffic.begin("g-1")
	traffic.end(first)
	traffic.let("g-0")
	traffic.let("g-1")
	traffic.end(second)
	calls := traffic.history()
	if len(calls) != 2 || !calls[0].let.IsZero() || calls[0].ended.IsZero() || calls[1].let.IsZero() || calls[1].ended.Before(calls[1].let) {
		t.Errorf("calls %+v", calls)
	}
}
