package main

import (
	"fmt"
	"slices"
	"strings"

	"muster.dev/muster/e2e/bench/contender"
	"muster.dev/muster/e2e/bench/figures"
)

// Environment variables that change what is measured.
const (
	nodesEnv     = "BENCH_NODES"
	roundsEnv    = "BENCH_ROUNDS"
	podsEnv      = "BENCH_PODS"
	workloadsEnv = "PERF_WORKLOADS"
	waysEnv      = "PERF_WAYS"
)

const (
	maxNodes  = 20_000
	maxRounds = 100
	maxPods   = 5_000
)

// plan lists the measurements.
type plan struct {
	nodes, rounds, pods int
	workloads           []scenario
	contenders          []contender.Contender
}

// planFromEnv reads what the environment asks for.
func planFromEnv(getenv func(string) string) (p plan, err error) {
	for _, number := range []struct {
		name            string
		otherwise, most int
		to              *int
	}{{nodesEnv, 5000, maxNodes, &p.nodes}, {roundsEnv, 3, maxRounds, &p.rounds}, {podsEnv, 1000, maxPods, &p.pods}} {
		if *number.to, err = figures.FromEnv(getenv, number.name, number.otherwise, number.most); err != nil {
			return plan{}, err
		}
	}
	if p.workloads, err = choose(getenv(workloadsEnv)); err != nil {
		return plan{}, fmt.Errorf("%s=%s: %w", workloadsEnv, getenv(workloadsEnv), err)
	}
	if p.contenders, err = ways(getenv(waysEnv)); err != nil {
		return plan{}, fmt.Errorf("%s=%s: %w", waysEnv, getenv(waysEnv), err)
	}
	if least := 2 * initTeams; p.nodes < least {
		return plan{}, fmt.Errorf("%s=%d: want at least %d", nodesEnv, p.nodes, least)
	}
	return p, nil
}

// order returns the contenders of a workload in a round: the plan's and the recommended one, starting with another one each time.
func (p plan) order(w scenario, round int) []contender.Contender {
	contenders := p.contenders
	if !slices.Contains(contenders, w.way) {
		contenders = append(slices.Clone(contenders), w.way)
	}
	turn := round % len(contenders)
	return slices.Concat(contenders[turn:], contenders[:turn])
}

// all are the contenders of all workloads.
func (p plan) all() []contender.Contender {
	all := slices.Clone(p.contenders)
	for _, w := range p.workloads {
		if !slices.Contains(all, w.way) {
			all = append(all, w.way)
		}
	}
	return all
}

// ways returns the stock scheduler and the contenders with these names, separated by commas.
func ways(names string) ([]contender.Contender, error) {
	known := []contender.Contender{
		contender.Scheduler, contender.Extender, contender.Offload, contender.Nominate, contender.NominateOffload, contender.Ahead,
		contender.Managed, contender.Batching, contender.NoBatching, contender.SameSample,
	}
	chosen := []contender.Contender{contender.Stock}
	if names == "" {
		return append(chosen, contender.SameSample, contender.Scheduler, contender.Extender), nil
	}
	for name := range strings.SplitSeq(names, ",") {
		c := contender.Contender(strings.TrimSpace(name))
		if !slices.Contains(known, c) {
			return nil, fmt.Errorf("way %q: want some of %v", c, known)
		}
		chosen = append(chosen, c)
	}
	return chosen, nil
}
