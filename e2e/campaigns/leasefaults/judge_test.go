package leasefaults

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/e2e/campaigns/faultcampaign"
	"muster.dev/muster/e2e/campaigns/faultcampaign/faulttest"
)

// at is a time of a test, in milliseconds.
func at(ms int) time.Time { return time.UnixMilli(int64(ms)) }

// between is an answer that was given between two times.
func between(by *incarnation, from, to int) answer {
	return answer{by: by, verb: filter, from: at(from), to: at(to)}
}

func TestTwoLeadAtATimeWhenTheirAnswersShowIt(t *testing.T) {
	a, b := &incarnation{name: "a"}, &incarnation{name: "b"}
	for name, test := range map[string]struct {
		answers []answer
		want    time.Duration
	}{
		"one after the other": {answers: []answer{between(a, 0, 1), between(a, 10, 11), between(b, 20, 21), between(b, 30, 31)}},
		"an answer of the first is read late": {
			answers: []answer{between(a, 0, 1), between(a, 10, 40), between(b, 20, 21), between(b, 30, 31)},
		},
		"an answer of the second was asked for early": {
			answers: []answer{between(a, 0, 1), between(a, 10, 11), between(b, 5, 21), between(b, 30, 31)},
		},
		"the first still answers": {
			answers: []answer{between(a, 0, 1), between(b, 20, 21), between(a, 40, 41), between(b, 50, 51)}, want: 19 * time.Millisecond,
		},
		"the second answers once in between": {
			answers: []answer{between(a, 0, 1), between(b, 20, 21), between(a, 40, 41)}, want: time.Millisecond,
		},
		"the second may have answered before or after": {
			answers: []answer{between(a, 10, 11), between(b, 5, 41), between(a, 30, 31)},
		},
		"each answers once": {answers: []answer{between(a, 0, 20), between(b, 10, 30)}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, order := range []string{"as they came", "turned round"} {
				led := terms(test.answers)
				if len(led) != 2 {
					t.Fatalf("%d led", len(led))
				}
				if got := both(led[0], led[1]); got != test.want {
					t.Errorf("%s: two led for %s, want %s", order, got, test.want)
				}
				if got := both(led[1], led[0]); got != test.want {
					t.Errorf("%s and asked the other way: two led for %s, want %s", order, got, test.want)
				}
				slices.Reverse(test.answers)
			}
		})
	}
}

func TestANodeIsGivenTwice(t *testing.T) {
	a, b := &incarnation{name: "a"}, &incarnation{name: "b"}
	gives := func(by *incarnation, pod types.UID, from, to, until int) *claim {
		c := &claim{answer: answer{by: by, verb: filter, pod: pod, node: "n", from: at(from), to: at(to)}}
		if until > 0 {
			c.until = at(until)
		}
		return c
	}
	alone := []answer{between(a, 0, 1), between(a, 10, 11)}
	for name, test := range map[string]struct {
		claims []*claim
		others []answer
		want   bool
	}{
		"to one pod":                         {claims: []*claim{gives(a, "p", 0, 1, 5), gives(a, "p", 10, 11, 0)}},
		"to the next once the first is free": {claims: []*claim{gives(a, "p", 0, 1, 5), gives(a, "q", 10, 11, 0)}},
		"to another while the first has it":  {claims: []*claim{gives(a, "p", 0, 1, 20), gives(a, "q", 10, 11, 0)}, want: true},
		"to another for ever":                {claims: []*claim{gives(a, "p", 0, 1, 0), gives(a, "q", 10, 11, 0)}, want: true},
		"to another, perhaps not before it was free": {
			claims: []*claim{gives(a, "p", 0, 1, 11), gives(a, "q", 10, 12, 0)},
		},
		"by the next leader, who does not know": {
			claims: []*claim{gives(a, "p", 0, 1, 0), gives(b, "q", 20, 21, 0)}, others: append(alone, between(b, 20, 21)),
		},
		"by another one, while the first leads": {
			claims: []*claim{gives(a, "p", 0, 1, 0), gives(b, "q", 5, 6, 0)}, others: append(alone, between(b, 5, 6)), want: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := twice(test.claims, terms(append(test.others, alone...))); (len(got) > 0) != test.want {
				t.Errorf("given twice: %v, want %t", got, test.want)
			}
		})
	}
}

func TestHowLongNobodyLed(t *testing.T) {
	a, b, c := &incarnation{name: "a"}, &incarnation{name: "b"}, &incarnation{name: "c"}
	got := gaps(terms([]answer{between(b, 50, 51), between(a, 0, 1), between(a, 10, 11), between(c, 100, 101), between(b, 60, 61)}))
	if want := []time.Duration{39 * time.Millisecond, 39 * time.Millisecond}; !slices.Equal(got, want) {
		t.Errorf("nobody led for %v, want %v", got, want)
	}
}

func TestOneMusterLeadsAtATimeWhateverGoesWrong(t *testing.T) {
	faulttest.FindsNothing(t, Campaign(), 3, 5)
}

// told returns the comparable part of a script.
func told(s *script) (lines []string) {
	for _, e := range s.events {
		lines = append(lines, e.at.String()+" "+e.what)
	}
	return lines
}

func TestAScriptIsThatOfItsSeed(t *testing.T) {
	drawn := map[faultcampaign.Fault]bool{}
	for seed := range uint64(300) {
		s := write(seed)
		if diff := cmp.Diff(told(s), told(write(seed))); diff != "" {
			t.Fatalf("seed %d differs (-first +second):\n%s", seed, diff)
		}
		if s.replicas < 2 || s.replicas > most {
			t.Errorf("seed %d has %d replicas", seed, s.replicas)
		}
		for _, e := range s.events {
			drawn[e.fault] = true
			if e.at >= window {
				t.Errorf("seed %d: %s is after the window", seed, e.what)
			}
		}
	}
	faulttest.AllAreDrawn(t, drawn)
	if len(drawn) < 18 {
		t.Errorf("only %d kinds of faults are drawn: %v", len(drawn), drawn)
	}
}
