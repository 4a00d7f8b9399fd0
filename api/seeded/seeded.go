// Package seeded makes tests of properties draw the same every time, so that a change fails them and chance never
// does. A run that is to look elsewhere sets MUSTER_SEED to another number.
package seeded

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

const (
	// Variable is the environment variable with another seed.
	Variable = "MUSTER_SEED"
	// usual is the seed of every run that asks for no other.
	usual = 1
	// drawsBy is rapid's flag, which is 0 unless it or RAPID_SEED was given.
	drawsBy = "rapid.seed"
)

// Check checks a property as [rapid.Check] does, with the seed of the run. Tests that check must not run in parallel.
func Check(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	draws(t, 0)
	rapid.Check(t, property)
}

// Until checks a property of more and more cases until they have shown enough: what is rare does not come up in
// every hundred. It gives up after two thousand, and leaves it to the test to say what they did not show.
func Until(t *testing.T, enough func() bool, property func(*rapid.T)) {
	t.Helper()
	rounds := uint64(20)
	if testing.Short() {
		rounds *= 5 // rapid checks a fifth of the cases in each
	}
	for round := range rounds {
		draws(t, round)
		if rapid.Check(t, property); enough() {
			return
		}
	}
}

// draws sets rapid's flag to the seed of a round.
func draws(t *testing.T, round uint64) {
	t.Helper()
	first, err := chosen()
	if err == nil {
		first += round << 32 // rapid takes the next seeds for the next cases
		err = flag.Set(drawsBy, strconv.FormatUint(first, 10))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("drawn by %s=%d", Variable, first)
}

// chosen is the seed of the run, read before anybody sets the flag.
var chosen = sync.OnceValues(func() (uint64, error) { //nolint:gochecknoglobals // flags belong to the process
	return choose(flag.Lookup(drawsBy).Value.String(), os.Getenv(Variable))
})

// choose returns the seed of a run: of rapid's own flag, of the environment, or the usual one.
func choose(given, environment string) (uint64, error) {
	switch {
	case given != "0":
		seed, err := strconv.ParseUint(given, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("-%s: %w", drawsBy, err)
		}
		return seed, nil
	case environment == "":
		return usual, nil
	}
	seed, err := strconv.ParseUint(environment, 10, 64)
	if err != nil || seed == 0 {
		return 0, fmt.Errorf("%s=%q is no seed: want a number from 1 on", Variable, environment)
	}
	return seed, nil
}
