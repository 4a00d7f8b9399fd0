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
			t.Setenv(serverVariable, server.URL)
			var stdout, stderr bytes.Buffer
			if got := run(t.Context(), []string{"explain", "pod", "p"}, nil, &stdout, &stderr); got != test.status || stderr.Len() > 0 {
				t.Errorf("exit status %d, want %d: %s", got, test.status, &stderr)
			}
			if asked != "/debug/explain?pod=default%2Fp" || !strings.HasPrefix(stdout.String(), "pod default/p ") {
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
