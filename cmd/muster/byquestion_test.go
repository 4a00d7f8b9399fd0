package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// tenancy is an API server to people of the namespace lab: pods are not theirs to see elsewhere, and a muster answers questions.
type tenancy struct {
	*testing.T
	answer map[string]any // the status of a question
	asked  []string       // method and path of each request that is not about pods, or what was asked about
}

func (s *tenancy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	const questions = "/apis/explanation.muster.dev/v1alpha1/namespaces/lab/questions"
	question := map[string]any{
		"apiVersion": "explanation.muster.dev/v1alpha1", "kind": "Question", "metadata": map[string]any{"name": "why-x", "namespace": "lab"},
	}
	what := r.Method + " " + strings.TrimPrefix(r.URL.Path, questions)
	switch {
	case !strings.HasPrefix(r.URL.Path, questions):
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"no right"}`)
		return
	case what == "POST ":
		var posted struct{ Spec struct{ About string } }
		if err := json.NewDecoder(r.Body).Decode(&posted); err != nil {
			s.Error(err)
		}
		what = posted.Spec.About
		w.WriteHeader(http.StatusCreated)
	case what == "GET /why-x":
		question["status"] = s.answer
	case what != "DELETE /why-x":
		s.Errorf("asked for %s", what)
	}
	question["spec"] = map[string]any{"about": "pod/web"}
	s.asked = append(s.asked, what)
	_ = json.NewEncoder(w).Encode(question)
}

func TestWhoMayNotReachMusterAsksByAQuestion(t *testing.T) {
	answer := func(outcome string) map[string]any {
		return map[string]any{
			"answeredAt": "2030-01-01T00:00:00Z", "outcome": outcome, "summary": "of lab/web this is said", "text": "in short\n\nA  B\n1  2\n",
		}
	}
	const by, short = "asked the muster of context here, by Question lab/why-x\n", "\nin short\n\nA  B\n1  2\n"
	for name, test := range map[string]struct {
		command string
		answer  map[string]any
		status  int
		about   string
		said    []string
	}{
		"a gang that waits":       {"why gang/train -n lab", answer("Waits"), exitWaits, "gang/train", []string{by + short}},
		"a gang that does not":    {"why gang/train -n lab", answer("GoesOn"), 0, "gang/train", []string{by, "waiting for up to 1m0s\n"}},
		"a pod that fits nowhere": {"why pod/web -n lab", answer("Waits"), exitWaits, "pod/web", []string{by}},
		"a pod explained":         {"explain pod lab/web", answer("GoesOn"), 0, "pod/web", []string{by, "in short"}},
		"in JSON": {
			"explain pod/web -n lab -o json", answer("Waits"), exitFitsNowhere, "pod/web", []string{by, `"outcome": "Waits"`},
		},
		"with every node":   {"explain pod/web -n lab --nodes", answer("GoesOn"), 0, "pod/web", []string{by, "in short"}},
		"what is not there": {"why pod/web -n lab", answer("NotFound"), 1, "pod/web", []string{by, "muster: of lab/web this is said"}},
		"in another namespace": {
			"why gang/train -n shop", nil, 1, "", []string{"you may list pods neither in all", "you may not create one in namespace shop"},
		},
		"what makes pods": {"why job/train -n lab", nil, 1, "", []string{"you may list pods neither in all namespaces"}},
		"of muster":       {"status", nil, 0, "", []string{"you may list pods neither in all namespaces"}},
	} {
		t.Run(name, func(t *testing.T) {
			api := &tenancy{T: t, answer: test.answer}
			server := httptest.NewServer(api)
			defer server.Close()
			t.Setenv("KUBECONFIG", kubeconfigOf(t, server.URL, server.URL))
			var out bytes.Buffer
			status := run(t.Context(), strings.Fields(test.command), nil, &out, &out)
			if status != test.status && name != "of muster" {
				t.Errorf("exit status %d, want %d", status, test.status)
			}
			for _, want := range test.said {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is not in:\n%s", want, &out)
				}
			}
			want := []string{test.about, "GET /why-x", "DELETE /why-x"}
			if test.about == "" {
				want = nil
			}
			if !slices.Equal(api.asked, want) {
				t.Errorf("asked is %v, want %v", api.asked, want)
			}
		})
	}
}
