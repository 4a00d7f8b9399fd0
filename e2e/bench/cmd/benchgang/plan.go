package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"muster.dev/muster/e2e/bench/contender"
	"muster.dev/muster/e2e/bench/figures"
)

// Environment variables that change what is measured.
const (
	roundsEnv = "BENCH_ROUNDS"
	casesEnv  = "BENCH_CASES"
	waitEnv   = "BENCH_WAIT"
	scaleEnv  = "BENCH_SCALE"
	// contendersEnv names who is compared.
	contendersEnv = "BENCH_CONTENDERS"
)

const (
	maxRounds = 100
	maxWait   = time.Hour
	maxScale  = 10
)

// plan lists the measurements.
type plan struct {
	cases  []benchCase
	rounds int
	// scale is by how much smaller clusters and gangs are, and how many fewer neighbours come.
	scale int
	// wait is how long the seven gangs of a standoff wait.
	wait time.Duration
	// before is the executable of another build of muster, "" for none.
	before string
}

func planFromEnv(getenv func(string) string) (plan, error) {
	p := plan{cases: cases(), rounds: 3, wait: 90 * time.Second}
	var err error
	if p.rounds, err = figures.FromEnv(getenv, roundsEnv, p.rounds, maxRounds); err != nil {
		return plan{}, err
	}
	if p.scale, err = figures.FromEnv(getenv, scaleEnv, 1, maxScale); err != nil {
		return plan{}, err
	}
	if text := getenv(waitEnv); text != "" {
		if p.wait, err = time.ParseDuration(text); err != nil || p.wait < time.Second || p.wait > maxWait {
			return plan{}, fmt.Errorf("%s=%s: want a duration from 1s to %s", waitEnv, text, maxWait)
		}
	}
	if text := getenv(casesEnv); text != "" {
		if p.cases, err = named(strings.Split(text, ",")); err != nil {
			return plan{}, fmt.Errorf("%s=%s: %w", casesEnv, text, err)
		}
	}
	if text := getenv(contendersEnv); text != "" {
		if p.cases, err = between(p.cases, strings.Split(text, ",")); err != nil {
			return plan{}, fmt.Errorf("%s=%s: %w", contendersEnv, text, err)
		}
	}
	for i := range p.cases {
		c := &p.cases[i]
		c.nodes, c.gangs.size = max(1, c.nodes/p.scale), max(1, c.gangs.size/p.scale)
	}
	if before := getenv(contender.BeforeEnv); before != "" {
		return p.withBefore(before)
	}
	return p, nil
}

// withBefore adds another build of muster to the cases in which gangs do not contend.
func (p plan) withBefore(path string) (plan, error) {
	if _, err := os.Stat(path); err != nil {
		return plan{}, fmt.Errorf("%s=%s: want the path of a build of muster: %w", contender.BeforeEnv, path, err)
	}
	p.before = path
	for i := range p.cases {
		if c := &p.cases[i]; c.name == caseMany || c.name == caseThousand {
			c.contenders = append(c.contenders, contender.Before)
		}
	}
	return p, nil
}

// named are the cases of these names, each once and in their own order.
func named(names []string) ([]benchCase, error) {
	all := cases()
	for _, name := range names {
		if !slices.ContainsFunc(all, func(c benchCase) bool { return c.name == name }) {
			return nil, fmt.Errorf("there is no case %q", name)
		}
	}
	return slices.DeleteFunc(all, func(c benchCase) bool { return !slices.Contains(names, c.name) }), nil
}

// between leaves in cases the contenders of these names, in their own order, and drops cases without any.
func between(cases []benchCase, names []string) ([]benchCase, error) {
	for _, name := range names {
		if !slices.ContainsFunc(cases, func(c benchCase) bool { return slices.Contains(c.titles(), name) }) {
			return nil, fmt.Errorf("there is no contender %q", name)
		}
	}
	for i := range cases {
		c := &cases[i]
		c.contenders = slices.DeleteFunc(
			slices.Clone(c.contenders),
			func(who contender.Contender) bool { return !slices.Contains(names, title(who)) },
		)
	}
	return slices.DeleteFunc(cases, func(c benchCase) bool { return len(c.contenders) == 0 }), nil
}

// titles are what the contenders of a case are called.
func (c benchCase) titles() (titles []string) {
	for _, who := range c.contenders {
		titles = append(titles, title(who))
	}
	return titles
}
