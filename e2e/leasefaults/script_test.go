package leasefaults

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/e2e/faultcampaign"
	"muster.dev/muster/e2e/faultcampaign/faulttest"
)

// told is what a script says that can be compared.
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
