package gangfaults

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"muster.dev/muster/e2e/faultcampaign"
)

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
