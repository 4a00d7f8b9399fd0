package remote_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"muster.dev/muster/inspect"
	"muster.dev/muster/server/remote"
)

// told serves answers by path, and counts how often each is asked for.
func told(t *testing.T, answers map[string]any) (*remote.Client, map[string]int) {
	t.Helper()
	asked := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.Path
		if pod := r.URL.Query().Get("pod"); pod != "" {
			path = pod
		}
		asked[path]++
		answer, found := answers[path]
		if !found {
			http.Error(w, "none", http.StatusNotFound)
			return
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	client, err := remote.New(remote.Options{Server: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return client, asked
}

// says fails unless an answer says all of something in a format.
func says(t *testing.T, answer inspect.Answer, format inspect.Format, wants ...string) {
	t.Helper()
	var text bytes.Buffer
	if err := inspect.Print(&text, answer, format); err != nil {
		t.Fatal(err)
	}
	squeezed := strings.Join(strings.Fields(text.String()), " ")
	for _, want := range wants {
		if !strings.Contains(squeezed, want) {
			t.Errorf("%q is not in:\n%s", want, &text)
		}
	}
}

type object = map[string]any

func TestWhyAGangWaits(t *testing.T) {
	client, _ := told(t, map[string]any{
		"/debug/gangs":           object{"gangs": []object{{"gang": "lab/train"}}},
		"/debug/gangs/lab/train": object{"gangs": []object{{"gang": "lab/train", "label": "l", "minMember": 2, "why": "too few"}}},
	})
	got, err := client.WhyGang(t.Context(), "lab", "train")
	if err != nil || !got.Waits() || len(got.Gangs) != 1 {
		t.Fatalf("got %+v, error %v", got, err)
	}
	_, err = client.WhyGang(t.Context(), "lab", "trian")
	if err == nil || err.Error() != "there is no gang lab/trian, did you mean lab/train?" {
		t.Errorf("error %v", err)
	}
	_, err = client.WhyGang(t.Context(), "elsewhere", "nothing")
	if err == nil || err.Error() != "there is no gang elsewhere/nothing" {
		t.Errorf("error %v", err)
	}
}

func TestWhyAPlanDoesNotGoOn(t *testing.T) {
	steps := []object{
		{
			"pod":   "d/a",
			"from":  "x",
			"to":    "y",
			"phase": "Moved",
		},
		{"pod": "d/b", "from": "x", "to": "z", "phase": "Evicted", "controller": "RS/r"},
	}
	plan := func(phase, mode string, approved bool) object {
		return object{"plan": "p", "policy": "MakeRoom", "mode": mode, "approved": approved, "phase": phase, "message": "because", "steps": steps}
	}
	for name, test := range map[string]struct {
		plan   object
		goesOn bool
		wants  []string
	}{
		"dry run":  {plan("Pending", "DryRun", false), false, []string{"plan p is only shown: its mode is DryRun", ": because"}},
		"approval": {plan("Pending", "Approve", false), false, []string{"annotate reschedulingplan p rescheduling.muster.dev/approve=true"}},
		"approved": {plan("Pending", "Approve", true), false, []string{"waits for the rescheduler to take it up"}},
		"turn":     {plan("Approved", "Auto", false), true, []string{"waits for its turn: because", "used up budget rate"}},
		"executing": {
			plan("Executing", "Auto", false), true,
			[]string{"is carried out, at step 2 of 2, d/b from x to z, which is Evicted: because", "room 1 places are kept"},
		},
		"succeeded": {plan("Succeeded", "Auto", false), true, []string{"has ended"}},
		"failed":    {plan("Failed", "Auto", false), false, []string{"has failed, at step 2 of 2"}},
		"expired":   {plan("Expired", "Auto", false), false, []string{"has expired, at step 2 of 2"}},
	} {
		t.Run(name, func(t *testing.T) {
			client, _ := told(t, map[string]any{
				"/debug/plans": object{"plans": []object{{"plan": "other"}, test.plan}},
				"/debug/reservations": object{"reservations": []object{
					{"plan": "other", "node": "n"}, {"plan": "p", "node": "z", "for": "d/b", "open": true},
				}},
			})
			rescheduler, asked := told(t, map[string]any{"/debug/rescheduler": object{"budgets": []object{
				{"budget": "rate", "left": 0}, {"budget": "selectedRate", "left": 1},
			}}})
			got, err := client.WhyPlan(t.Context(), "p", rescheduler)
			if err != nil {
				t.Fatal(err)
			}
			if got.GoesOn() != test.goesOn || got.At != 2 {
				t.Errorf("goes on %t, at %d", got.GoesOn(), got.At)
			}
			says(t, got, inspect.Text, test.wants...)
			says(t, got, inspect.Wide, "2 d/b RS/r x z Evicted -", "z d/b true -")
			if budgets := len(got.UsedUp); budgets > 1 || (asked["/debug/rescheduler"] == 1) != (budgets == 1) {
				t.Errorf("used up %v, asked %v", got.UsedUp, asked)
			}
		})
	}
	client, _ := told(t, map[string]any{"/debug/plans": object{"plans": []object{{"plan": "makeroom-x7k2p"}}}})
	if _, err := client.WhyPlan(t.Context(), "makeroom-x7kp2", nil); err == nil ||
		err.Error() != "there is no plan makeroom-x7kp2, did you mean makeroom-x7k2p?" {
		t.Errorf("error %v", err)
	}
}
