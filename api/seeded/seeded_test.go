package seeded

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTheSeedOfARunIsThatOfTheFlagThenOfTheEnvironment(t *testing.T) {
	for name, test := range map[string]struct {
		given, environment string
		want               uint64
		fails              string
	}{
		"nothing is given":                      {"0", "", 1, ""},
		"the environment":                       {"0", "42", 42, ""},
		"rapid's own flag, to try one again":    {"7", "42", 7, ""},
		"no number":                             {"0", "x", 0, `MUSTER_SEED="x" is no seed`},
		"what would be another one every time":  {"0", "0", 0, `MUSTER_SEED="0" is no seed`},
		"the flag, whatever the environment is": {"7", "x", 7, ""},
	} {
		got, err := choose(test.given, test.environment)
		if got != test.want || (err == nil) != (test.fails == "") || err != nil && !strings.Contains(err.Error(), test.fails) {
			t.Errorf("%s: %d, %v; want %d, %q", name, got, err, test.want, test.fails)
		}
	}
}

func TestTwoChecksDrawTheSame(t *testing.T) {
	var drawn [2][]uint64
	for i := range drawn {
		Check(t, func(t *rapid.T) { drawn[i] = append(drawn[i], rapid.Uint64().Draw(t, "n")) })
	}
	if len(drawn[0]) < 2 || drawn[0][0] != drawn[1][0] || drawn[0][1] != drawn[1][1] {
		t.Errorf("two checks drew %v and then %v", drawn[0][:2], drawn[1][:2])
	}
}

func TestMoreAndMoreCasesAreOthers(t *testing.T) {
	drawn, cases := map[uint64]bool{}, 0
	Until(t, func() bool { return cases > 300 }, func(t *rapid.T) {
		cases++
		drawn[rapid.Uint64().Draw(t, "n")] = true
	})
	if cases <= 300 || len(drawn) < cases/2 {
		t.Errorf("%d cases drew %d numbers", cases, len(drawn))
	}
}

func TestWhatIsNeverEnoughIsGivenUp(t *testing.T) {
	cases := 0
	Until(t, func() bool { return false }, func(*rapid.T) { cases++ })
	if cases != 2000 {
		t.Errorf("given up after %d cases", cases)
	}
}
