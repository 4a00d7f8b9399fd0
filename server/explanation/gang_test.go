package explanation_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"muster.dev/muster/gang/core"
	"muster.dev/muster/inspect"
	"muster.dev/muster/predicates"
	"muster.dev/muster/server/explanation"
)

// printed returns an answer in a format, with runs of spaces squeezed.
func printed(t *testing.T, answer inspect.Answer, format inspect.Format) string {
	t.Helper()
	var text bytes.Buffer
	if err := inspect.Print(&text, answer, format); err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(text.String()), " ")
}

func TestWhyAGangWaits(t *testing.T) {
	cpus := func(n string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(n)}
	}
	full := []explanation.Refusal{{Objection: predicates.Objection{Predicate: "Fit", Reason: "Insufficient cpu"}, Nodes: 1}}
	gang := explanation.Gang{
		Details: core.Details{
			Summary: core.Summary{
				Name: "lab/train", Label: "l", MinMember: 14, Pending: 9, Held: 1, Bound: 1, Why: "too few", Room: "Nominated",
				Account:  core.Account{Lacking: 12, Ready: 9, Leaving: 1, Missing: 3},
				Deadline: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC),
			},
			Members: []core.Member{
				{Pod: "m-1", Stage: "pending", AgeSeconds: 5}, {Pod: "p", Stage: "reserved", Node: "b"}, {Pod: "q", Stage: "bound", Node: "c"},
			},
		},
		Places: &explanation.Places{Wanted: 9, Found: 8, Short: 1},
		Seeking: []explanation.Seeking{
			{
				Pods: []string{"m-1"}, Asks: cpus("4"), Refused: full,
				Alone: explanation.Nodes{All: 1, Full: 1, Nearest: &explanation.Gap{Node: "a", Lacks: cpus("2")}},
			},
			{Pods: []string{"m-2", "m-3"}, Asks: cpus("1"), Refused: full, Placed: 1, Rooms: 1, Alone: explanation.Nodes{All: 2, Fit: 1, Full: 1}},
			{Pods: []string{"x"}, NoProfile: "no profile"},
		},
		MoreSeeking: 1,
	}
	all := &explanation.Gangs{Gangs: []explanation.Gang{gang}}
	text := printed(t, all, inspect.Wide)
	for _, want := range []string{
		"gang lab/train waits: too few", "quorum 14 members must start together: 3 more are to be created",
		"members 9 pending, 0 placed, 1 held, 0 binding, 1 bound, 1 leaving, 0 succeeded, 0 failed, by label l",
		"now places for 8 of 9 members that need one: 1 place short",
		"reserved 1 places on b, kept as Nominated, until 2030-01-01T00:00:00Z", "m-1 0 of 1 1 Fit Insufficient cpu",
		"m-2 and 1 alike 1 of 2 1 Fit Insufficient cpu", "x 0 of 0 - - no profile", "and 1 more, not looked at",
		"m-1: each asks for 4 cpu; node a lacks 2 cpu; 0 of 1 would get a place now",
		"m-2 and 1 alike: each asks for 1 cpu; the nodes that take one have room for 1; 1 of 2 would get a place now",
		"MEMBER STAGE NODE FOR", "m-1 pending - 5s", "q bound c",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
	if text := printed(t, all, inspect.YAML); !strings.Contains(text, "gang: lab/train") || !strings.Contains(text, "missing: 3") {
		t.Errorf("in YAML it is:\n%s", text)
	}
}

func TestWhatIsSaidOfAQuorum(t *testing.T) {
	for want, of := range map[string]core.Summary{
		"not known: what makes it a gang does not say how many must start together": {},
		"3 members must start together: that many are there":                        {MinMember: 3, Account: core.Account{Lacking: 3, Ready: 3}},
		"3 members must start together: 2 more are to be created": {
			MinMember: 3, Account: core.Account{Lacking: 3, Ready: 1, Missing: 2},
		},
		"3 members must start together: they have, and others start one by one": {MinMember: 3, Account: core.Account{Started: true}},
		"3 members must start together: that many are there, and 1 more have to become ready": {
			MinMember: 3, Account: core.Account{Lacking: 3, Ready: 2, Gated: 1},
		},
	} {
		gang := explanation.Gang{Details: core.Details{Summary: of}}
		text := printed(t, &explanation.Gangs{Gangs: []explanation.Gang{gang}}, inspect.Text)
		if !strings.Contains(text, "quorum "+want+" members") {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
}
