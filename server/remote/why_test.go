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
	full := []object{{"node": "a", "against": []object{{"predicate": "Fit", "reason": "Insufficient cpu"}}}, {"node": "b", "fits": true}}
	var members []object
	for _, name := range []string{"m-1", "m-2", "m-3", "m-4", "m-5", "m-6", "m-7", "m-8", "m-9"} {
		members = append(members, object{"pod": name, "stage": "pending", "ageSeconds": 5})
	}
	members = append(members, object{"pod": "p", "stage": "reserved", "node": "b"}, object{"pod": "q", "stage": "bound", "node": "c"})
	answers := map[string]any{
		"/debug/gangs": object{"gangs": []object{{"gang": "lab/train"}}},
		"/debug/gangs/lab/train": object{"gangs": []object{{
			"gang": "lab/train", "label": "l", "minMember": 14, "pending": 9, "held": 1, "bound": 1, "why": "too few", "room": "Nominated",
			"deadline": "2030-01-01T00:00:00Z", "members": members,
		}}},
		"lab/m-1": object{"pod": "lab/m-1", "nodes": []object{{"node": "a", "against": full[0]["against"]}}, "fitting": 0},
		"lab/m-9": object{},
	}
	for _, name := range []string{"m-2", "m-3", "m-4", "m-5", "m-6", "m-7"} { // m-8 is gone
		answers["lab/"+name] = object{"pod": "lab/" + name, "nodes": full, "fitting": 1}
	}
	client, asked := told(t, answers)
	got, err := client.WhyGang(t.Context(), "lab", "train")
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Gangs) != 1 || len(got.Gangs[0].Seeking) != 2 || got.Gangs[0].Missing != 3 {
		t.Errorf("got %+v, want alike members once, and 3 missing", got.Gangs)
	}
	if !got.Waits() || asked["lab/m-9"] != 0 || asked["lab/m-8"] != 1 || asked["lab/p"] != 0 {
		t.Errorf("waits %t, asked %v", got.Waits(), asked)
	}
	says(t, got, inspect.Text,
		"gang lab/train waits: too few", "quorum 14 members must start together: 3 more are to be created",
		"reserved 1 places on b, kept as Nominated, until 2030-01-01T00:00:00Z", "m-1 0 of 1 1 Fit Insufficient cpu",
		"m-2 and 5 alike 1 of 2 1 Fit Insufficient cpu", "and 1 more, not asked about")
	says(t, got, inspect.Wide, "MEMBER STAGE NODE FOR", "m-9 pending - 5s", "q bound c")
	says(t, got, inspect.YAML, "gang: lab/train", "missing: 3", "moreSeeking: 1")

	_, err = client.WhyGang(t.Context(), "lab", "trian")
	if err == nil || err.Error() != "there is no gang lab/trian, did you mean lab/train?" {
		t.Errorf("error %v", err)
	}
	_, err = client.WhyGang(t.Context(), "elsewhere", "nothing")
	if err == nil || err.Error() != "there is no gang elsewhere/nothing" {
		t.Errorf("error %v", err)
	}
}

func TestAGangThatHasStartedDoesNotWait(t *testing.T) {
	client, asked := told(t, map[string]any{"/debug/gangs/lab/train": object{"gangs": []object{{
		"gang": "lab/train", "label": "l", "minMember": 1, "bound": 1, "members": []object{{"pod": "late", "stage": "pending"}},
	}}}})
	got, err := client.WhyGang(t.Context(), "lab", "train")
	if err != nil || got.Waits() || asked["lab/late"] > 0 {
		t.Fatalf("got %+v, error %v, asked %v", got, err, asked)
	}
	says(t, got, inspect.Text, "gang lab/train does not wait", "1 members must start together: that many are there", "reserved no place")
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
