package main

import (
	"fmt"
	"strconv"
	"strings"

	"muster.dev/muster/e2e/contender"
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

// plan is what is measured.
type plan struct {
	sizes  []int
	rounds int
	// pods of every cell; 0 leaves it to podsOf.
	pods int
}

// cell is one thing that is measured. Its string is its name in figures.
type cell struct {
	contender contender.Contender
	size      int
	all       bool
}

func (c cell) String() string {
	mode := "sampled"
	if c.all {
		mode = "all"
	}
	return fmt.Sprintf("%s_%d_%s", c.contender, c.size, mode)
}

// percentage of the nodes that the scheduler scores, 0 for its own choice.
func (c cell) percentage() int {
	if c.all {
		return 100
	}
	return 0
}

func contenders() []contender.Contender {
	return []contender.Contender{contender.Stock, contender.Empty, contender.Scheduler, contender.Extender}
}

func cellsOf(size int) []cell {
	var cells []cell
	for _, all := range []bool{false, true} {
		for _, c := range contenders() {
			cells = append(cells, cell{contender: c, size: size, all: all})
		}
	}
	return cells
}

// podsOf is enough for a cell to run for some seconds, and little enough for the whole
// plan to take about a quarter of an hour on two cores.
func (p plan) podsOf(c cell) int {
	switch {
	case p.pods > 0:
		return p.pods
	case c.all && c.size > 1000:
		return 300
	}
	return 600
}

func planFromEnv(getenv func(string) string) (plan, error) {
	p := plan{sizes: []int{1000, 5000}, rounds: 5}
	if text := getenv(sizesEnv); text != "" {
		p.sizes = nil
		for part := range strings.SplitSeq(text, ",") {
			n, err := number(sizesEnv, part, maxNodes)
			if err != nil {
				return plan{}, err
			}
			p.sizes = append(p.sizes, n)
		}
	}
	var err error
	if text := getenv(roundsEnv); text != "" {
		if p.rounds, err = number(roundsEnv, text, maxRounds); err != nil {
			return plan{}, err
		}
	}
	if text := getenv(podsEnv); text != "" {
		if p.pods, err = number(podsEnv, text, maxPods); err != nil {
			return plan{}, err
		}
		if p.pods < 2 {
			return plan{}, fmt.Errorf("%s=%s: a rate takes at least 2 pods", podsEnv, text)
		}
	}
	return p, nil
}

func number(env, text string, most int) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("%s=%s: want a number from 1 to %d", env, text, most)
	}
	return n, nil
}
