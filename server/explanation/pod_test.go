package explanation_test

import (
	"bytes"
	"strings"
	"testing"

	"muster.dev/muster/gang/record"
	"muster.dev/muster/inspect"
	"muster.dev/muster/placement/nomination"
	"muster.dev/muster/server/explanation"
)

func TestAPodThatIsGatedIsToldWhatForAndWhereItIsToGo(t *testing.T) {
	const gated = "pod d/p is held back by scheduling gates: muster.dev/gang; it waits as a member of gang d/g, "
	reserved := func(room record.Room) explanation.Pod {
		return explanation.Pod{Gang: &explanation.Membership{Gang: "d/g", Stage: "reserved", Node: "a", Room: room}}
	}
	for want, e := range map[string]explanation.Pod{
		gated + "gated: waiting for 1 more of 3 members to be created": {
			Gang: &explanation.Membership{Gang: "d/g", Stage: "gated", Why: "waiting for 1 more of 3 members to be created"},
		},
		gated + "reserved for node a, where a nomination keeps its room": reserved(record.RoomNominated),
		gated + "reserved for node a, where nobody contests its room":    reserved(record.RoomUncontested),
		"pod d/p is held back by scheduling gates: muster.dev/gang; it is to go to node a, where it counts: standing": {
			Nomination: &nomination.Pending{Node: "a", Stage: "standing"},
		},
		"pod d/p is held back by scheduling gates: muster.dev/gang; it waits to be placed: planning": {
			Nomination: &nomination.Pending{Stage: "planning"},
		},
		"pod d/p is held back by scheduling gates: muster.dev/gang": {},
	} {
		e.Pod, e.Gates = "d/p", []string{"muster.dev/gang"}
		var text bytes.Buffer
		if err := inspect.Print(&text, &e, inspect.Text); err != nil {
			t.Fatal(err)
		}
		if got, _, _ := strings.Cut(text.String(), "\n"); got != want {
			t.Errorf("told %q\n want %q", got, want)
		}
	}
}
