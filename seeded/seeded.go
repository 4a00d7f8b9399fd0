// Package seeded has tests of properties draw the same every time, so that they fail by what was changed and
// never by chance. A run that is to look elsewhere sets MUSTER_SEED to another number.
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

// Check checks a property as [rapid.Check] does, with the seed of the run.
func Check(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	seed, err := set()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("drawn by %s=%s", Variable, seed)
	rapid.Check(t, property)
}

// set sets rapid's flag, once for all tests of the process.
var set = sync.OnceValues(func() (string, error) { //nolint:gochecknoglobals // flags belong to the process
	f := flag.Lookup(drawsBy)
	seed, err := choose(f.Value.String(), os.Getenv(Variable))
	if err != nil {
		return "", err
	}
	return seed, f.Value.Set(seed)
})

// choose returns the seed of a run: of rapid's own flag, of the environment, or the usual one.
func choose(given, environment string) (string, error) {
	switch {
	case given != "0":
		return given, nil
	case environment == "":
		return strconv.Itoa(usual), nil
	}
	if seed, err := strconv.ParseUint(environment, 10, 64); err != nil || seed == 0 {
		return "", fmt.Errorf("%s=%q is no seed: want a number from 1 on", Variable, environment)
	}
	return environment, nil
}
