package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"muster.dev/muster/e2e/bench/solver"
)

// solution is the result of the exact solver.
type solution struct {
	placed, evictions int
	bound             int  // no more can be placed
	proven            bool // that placed and evictions are the best there is
	took              time.Duration
}

func (s solution) remark() string {
	if s.proven {
		return ""
	}
	return ", its time was up"
}

const (
	placing = 1000  // evictions that a placed pod is worth
	arrival = 0.001 // costs so much, so that none comes for nothing
)

// optimum is the most pods that can be placed, and the fewest evictions for that. direct
// holds moves to room that is free before all of them.
func optimum(ctx context.Context, cbc string, l *layout, direct bool, limit time.Duration) (solution, error) {
	found, err := solver.Solve(ctx, cbc, l.program(direct), limit)
	if err != nil {
		return solution{}, err
	}
	s := solution{proven: found.Proven, took: found.Took}
	for name, value := range found.Values {
		switch whole := int(value + 0.5); name[0] {
		case 'p':
			s.placed += whole
		case 'x':
			s.evictions += whole
		}
	}
	if s.bound = s.placed; !s.proven {
		s.bound, err = placedAtMost(found.Log, l.pods())
	}
	return s, err
}

// placedAtMost returns the number of pods that can be placed by the bound on the cost that CBC logs
// when its time is up, if each pod is evicted at most once.
func placedAtMost(log []byte, pods int) (int, error) {
	const label = "Lower bound:"
	for line := range strings.Lines(string(log)) {
		if value, found := strings.CutPrefix(line, label); found {
			bound, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				return 0, fmt.Errorf("cbc logs %q: %w", line, err)
			}
			return int(((1+arrival)*float64(pods) - bound) / placing), nil
		}
	}
	return 0, fmt.Errorf("cbc logs no %q: %s", label, log)
}
