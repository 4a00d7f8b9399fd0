package campaign

import (
	"errors"
	"testing"
	"time"

	"muster.dev/muster/e2e/controlplane"
)

func TestNominationOvercommitsNoNodeAndLeavesNothingBehind(t *testing.T) {
	cp := controlplane.ForTest(t, controlplane.Options{Controllers: controlplane.PodCreation()})
	l, err := equip(t.Context(), cp, "", t.Output())
	if err != nil {
		t.Fatal(err)
	}
	short := Options{Rounds: 1, Seed: 1, Length: 12 * time.Second, Nodes: 80}
	c, err := l.campaign(t.Context(), short, []way{nominating, without}, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	c.print(t.Output())
	if err := errors.Join(c.violation(), c.idle(true)); err != nil {
		t.Error(err)
	}
}
