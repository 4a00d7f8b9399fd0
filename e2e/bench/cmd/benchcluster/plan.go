package main

import (
	"fmt"

	"muster.dev/muster/e2e/bench/figures"
)

// Environment variables that change what is measured.
const (
	sizesEnv  = "BENCH_SIZES"
	roundsEnv = "BENCH_ROUNDS"
	podsEnv   = "BENCH_PODS"
	// eagerEnv has muster nominate every pod, whatever that saves: on few nodes it saves little.
	eagerEnv = "BENCH_EAGER"
)

const (
	seed = 1

	maxNodes  = 20_000
	maxRounds = 100
	maxPods   = 20_000
)

// plan lists the measurements of a trial.
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
	p := plan{}
	var err error
	if p.sizes, err = figures.Sizes(getenv, sizesEnv, t.sizes, maxNodes); err != nil {
		return plan{}, err
	}
	if p.rounds, err = figures.FromEnv(getenv, roundsEnv, t.rounds, maxRounds); err != nil {
		return plan{}, err
	}
	if p.pods, err = figures.FromEnv(getenv, podsEnv, 0, maxPods); err != nil {
		return plan{}, err
	}
	if p.pods == 1 {
		return plan{}, fmt.Errorf("%s=1: a rate takes at least 2 pods", podsEnv)
	}
	return p, nil
}
