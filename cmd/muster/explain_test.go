package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestTheExitStatusSaysWhetherThereIsANodeForThePod(t *testing.T) {
	for name, test := range map[string]struct {
		told   string
		status int
	}{
		"bound":        {`{"pod":"default/p","profile":"other","bound":"a","nodes":[{"node":"a"}]}`, exitOK},
		"fits":         {`{"pod":"default/p","profile":"other","fitting":1,"nodes":[{"node":"a","fits":true}]}`, exitOK},
		"fits nowhere": {`{"pod":"default/p","profile":"other","nodes":[{"node":"a"}]}`, exitFitsNowhere},
	} {
		t.Run(name, func(t *testing.T) {
			asked := ""
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked = r.URL.String()
				_, _ = w.Write([]byte(test.told))
			}))
			t.Cleanup(server.Close)
			var stdout, stderr bytes.Buffer
			for _, args := range []string{"explain pod p", "explain pod/p", "explain po default/p", "explain pods/p -n default", "why pod/p"} {
				stdout.Reset()
				line := append(strings.Fields(args), "--server", server.URL)
				if got := run(t.Context(), line, nil, &stdout, &stderr); got != test.status || stderr.Len() > 0 {
					t.Errorf("%s: exit status %d, want %d: %s", args, got, test.status, &stderr)
				}
			}
			if asked != "/debug/explain?pod=default%2Fp" || !strings.HasPrefix(stdout.String(), "asked "+server.URL+"\n\npod default/p ") {
				t.Errorf("asked for %s, printed:\n%s", asked, &stdout)
			}
		})
	}
}

func TestNamesOfPodsThatWaitAreCompleted(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"pods":[{"pod":"default/web-1"},{"pod":"default/db-1"},{"pod":"lab/web-2"}]}`))
	}))
	t.Cleanup(server.Close)
	for args, want := range map[string]string{
		"default/w":  "default/web-1\n:4\n",
		"-n lab web": "web-2\n:4\n",
		"p another":  ":4\n",
	} {
		var stdout, stderr bytes.Buffer
		run(t.Context(), append([]string{"__complete", "explain", "pod", "--server", server.URL}, strings.Fields(args)...), nil, &stdout, &stderr)
		if stdout.String() != want {
			t.Errorf("%s: completed with %q, want %q", args, &stdout, want)
		}
	}
}

func TestTypesAndNamesAreCompletedAsKubectlDoes(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(map[string]string{
			"/debug/pending": `{"pods":[{"pod":"default/web-1"},{"pod":"default/n-1","owners":[{"kind":"Job","name":"nightly"}]}]}`,
			"/debug/gangs":   `{"gangs":[{"gang":"lab/train"}]}`,
			"/debug/plans":   `{"plans":[{"plan":"makeroom-1"},{"plan":"coalesce-1"}]}`,
		}[r.URL.Path]))
	}))
	t.Cleanup(server.Close)
	for args, want := range map[string]string{
		"explain po":               "pod\n:4\n",
		"explain job":              "job\njobset\n:4\n",
		"explain pod/d":            "pod/default/web-1\npod/default/n-1\n:4\n",
		"explain -n default pod/w": "pod/web-1\n:4\n",
		"why p":                    "plan\npod\npytorchjob\npaddlejob\n:4\n",
		"why job/d":                "job/default/nightly\n:4\n",
		"why gang lab/":            "lab/train\n:4\n",
		"why plan/make":            "plan/makeroom-1\n:4\n",
		"why node/a":               ":4\n",
	} {
		command, rest, _ := strings.Cut(args, " ")
		var stdout, stderr bytes.Buffer
		run(t.Context(), append([]string{"__complete", command, "--server", server.URL}, strings.Fields(rest)...), nil, &stdout, &stderr)
		if stdout.String() != want {
			t.Errorf("%s: completed with %q, want %q", args, &stdout, want)
		}
	}
}

func TestTheExitStatusSaysWhetherAGangWaitsOrAPlanGoesOn(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(map[string]string{
			"/debug/gangs/default/waits":  `{"gangs":[{"gang":"default/waits","why":"so"}]}`,
			"/debug/gangs/default/starts": `{"gangs":[{"gang":"default/starts"}]}`,
			"/debug/plans":                `{"plans":[{"plan":"on","phase":"Executing"},{"plan":"off","phase":"Failed"}]}`,
			"/debug/reservations":         `{}`,
			"/debug/rescheduler":          `{}`,
		}[r.URL.Path]))
	}))
	t.Cleanup(server.Close)
	for args, want := range map[string]struct {
		status int
		says   string
	}{
		"gang waits": {exitWaits, "gang default/waits waits: so\n"}, "gang/starts": {exitOK, "gang default/starts does not wait\n"},
		"plan/on": {exitOK, "plan on is carried out\n"}, "plan off": {exitWaits, "plan off has failed\n"},
	} {
		var stdout, stderr bytes.Buffer
		line := append([]string{"why", "--server", server.URL, "--rescheduler", server.URL}, strings.Fields(args)...)
		if got := run(t.Context(), line, nil, &stdout, &stderr); got != want.status || !strings.Contains(stdout.String(), "\n\n"+want.says) {
			t.Errorf("%s: exit status %d, want %d: %s%s", args, got, want.status, &stdout, &stderr)
		}
	}
}
