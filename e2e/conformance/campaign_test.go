package conformance

import (
	"os"
	"strconv"
	"testing"
)

// defaultSeed is the first scenario's seed unless CONFORMANCE_SEED says otherwise, so that all runs draw the same.
const defaultSeed = 1

// campaign is a test of what seeds draw: the first scenario has the campaign's seed, the next one's is one more.
type campaign struct {
	*testing.T
	seed  uint64
	judge *Judge
}

// begin begins a campaign that shares nothing with others.
func begin(t *testing.T) *campaign {
	t.Helper()
	t.Parallel()
	c := &campaign{T: t, seed: fromEnvironment(t, "CONFORMANCE_SEED", defaultSeed), judge: newJudge(t)}
	t.Logf("CONFORMANCE_SEED=%d", c.seed)
	return c
}

// expects reports whether what is drawn is known beforehand: how often something comes up of another seed is up to chance.
func (c *campaign) expects() bool { return c.seed == defaultSeed }

// hear has the judge hear of one seed after the other until it has heard so many cases, or has seen enough disagreements.
func (c *campaign) hear(cases int, hear func(seed uint64) error) {
	c.Helper()
	for seed := c.seed; c.judge.Cases < cases && len(c.judge.First) < remembered; seed++ {
		known := len(c.judge.First)
		if err := hear(seed); err != nil {
			c.Fatalf("CONFORMANCE_SEED=%d: %v", seed, err)
		}
		for _, disagreement := range c.judge.First[known:] {
			c.Errorf("CONFORMANCE_SEED=%d: %v", seed, disagreement)
		}
	}
}

// size is how large a campaign is: what the environment variable says, else less in short mode.
func size(t *testing.T, name string, short, full uint64) int {
	t.Helper()
	if testing.Short() {
		full = short
	}
	return int(fromEnvironment(t, name, full))
}

func fromEnvironment(t *testing.T, name string, fallback uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return fallback
	}
	value, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return value
}

func newJudge(t *testing.T) *Judge {
	t.Helper()
	judge, err := NewJudge()
	if err != nil {
		t.Fatal(err)
	}
	return judge
}
