package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
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
	dir, err := os.MkdirTemp("", "muster-optimum-")
	if err != nil {
		return solution{}, err
	}
	defer os.RemoveAll(dir)
	model, result := filepath.Join(dir, "model.lp"), filepath.Join(dir, "solution")
	if err := os.WriteFile(model, l.program(direct), 0o644); err != nil {
		return solution{}, err
	}
	started := time.Now()
	seconds := strconv.Itoa(max(1, int(limit.Seconds())))
	log, err := exec.CommandContext(
		ctx, cbc, model, "timeMode", "elapsed", "sec", seconds, "ratioGap", "0", "allowableGap", "0.5", "solve", "solution", result,
	).
		CombinedOutput()
	if err != nil {
		return solution{}, fmt.Errorf("cbc: %w: %s", err, log)
	}
	s, err := readSolution(result)
	if err != nil {
		return s, err
	}
	s.took = time.Since(started)
	if s.bound = s.placed; !s.proven {
		s.bound, err = placedAtMost(log, l.pods())
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

// readSolution reads the file that CBC writes: a line that says how it ended, and one for each
// variable that is not 0.
func readSolution(path string) (solution, error) {
	var s solution
	file, err := os.Open(path)
	if err != nil {
		return s, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	if !lines.Scan() {
		return s, fmt.Errorf("cbc wrote an empty solution: %w", lines.Err())
	}
	s.proven = strings.HasPrefix(lines.Text(), "Optimal")
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 3 {
			continue
		}
		value, err := strconv.ParseFloat(fields[2], 64)
		if err != nil {
			return s, fmt.Errorf("cbc wrote %q: %w", lines.Text(), err)
		}
		switch whole := int(value + 0.5); fields[1][0] {
		case 'p':
			s.placed += whole
		case 'x':
			s.evictions += whole
		}
	}
	return s, lines.Err()
}
