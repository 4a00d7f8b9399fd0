package main

import (
	"fmt"
	"strings"

	"muster.dev/muster/e2e/bench/figures"
)

// Environment variables that change what is measured.
const (
	sizesEnv  = "BENCH_SIZES"
	roundsEnv = "BENCH_ROUNDS"
	podsEnv   = "BENCH_PODS"
)

const (
	seed = 1

	maxNodes  = 20_000
	maxRounds = 100
	maxPods   = 20_000
)

// plan is what is measured of a trial.
type plan struct {
	sizes  []int
	rounds int
	// pods of every cell; 0 leaves it to the trial.
	pods int
}

// podsOf is how many pods a cell binds.
func (p plan) podsOf(t trial, c cell) int {
	if p.pods > 0 {
		return p.pods
	}
	return t.pods(c)
}

func planFromEnv(t trial, getenv func(string) string) (plan, error) {
	p := plan{sizes: t.sizes, rounds: t.rounds}
	if text := getenv(sizesEnv); text != "" {
		p.sizes = nil
		for part := range strings.SplitSeq(text, ",") {
			n, err := figures.Number(sizesEnv, part, maxNodes)
			if err != nil {
				return plan{}, err
			}
			p.sizes = append(p.sizes, n)
		}
	}
	var err error
	if text := getenv(roundsEnv); text != "" {
		if p.rounds, err = figures.Number(roundsEnv, text, maxRounds); err != nil {
			return plan{}, err
		}
	}
	if text := getenv(podsEnv); text != "" {
		if p.pods, err = figures.Number(podsEnv, text, maxPods); err != nil {
			return plan{}, err
		}
		if p.pods < 2 {
			return plan{}, fmt.Errorf("%s=%s: a rate takes at least 2 pods", podsEnv, text)
		}
	}
	return p, nil
}
