// Package solver has CBC, an exact solver of linear programs over integers, say what the optimum is.
package solver

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Path is where CBC is installed, "" if it is not.
func Path() string {
	path, err := exec.LookPath("cbc")
	if err != nil {
		return ""
	}
	return path
}

// Program is a linear program whose cost is to be as low as possible. The zero value has no variables.
type Program struct {
	objective, constraints, bounds, integers bytes.Buffer
}

// Integer adds a whole number from 0 to upper to the program, and returns its name. It adds its weight to the cost, which has a sign.
func (p *Program) Integer(name string, upper int, weight string) string {
	fmt.Fprintf(&p.integers, " %s\n", name)
	return p.Number(name, upper, weight)
}

// Number is [Program.Integer] for any number.
func (p *Program) Number(name string, upper int, weight string) string {
	fmt.Fprintf(&p.objective, " %s %s\n", weight, name)
	fmt.Fprintf(&p.bounds, " 0 <= %s <= %d\n", name, upper)
	return name
}

// Constrain bounds a sum of variables, such as "<= 3". A sum of none is not bounded.
func (p *Program) Constrain(name string, sum *bytes.Buffer, bound string) {
	if sum.Len() > 0 {
		fmt.Fprintf(&p.constraints, " %s:%s %s\n", name, sum, bound)
	}
}

// text is the program in the LP format.
func (p *Program) text() []byte {
	return fmt.Appendf(
		nil, "Minimize\n cost:\n%sSubject To\n%sBounds\n%sGenerals\n%sEnd\n", &p.objective, &p.constraints, &p.bounds, &p.integers,
	)
}

// Solution is how CBC has ended.
type Solution struct {
	// Proven says that no solution costs less, and Infeasible that there is none.
	Proven, Infeasible bool
	Values             map[string]float64 // of variables that are not 0
	Log                []byte
	Took               time.Duration
}

// Solve runs CBC for no longer than a limit of a second at least. Solutions whose costs differ by half count as equal.
func Solve(ctx context.Context, cbc string, program *Program, limit time.Duration) (*Solution, error) {
	dir, err := os.MkdirTemp("", "muster-optimum-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	model, result := filepath.Join(dir, "model.lp"), filepath.Join(dir, "solution")
	if err := os.WriteFile(model, program.text(), 0o644); err != nil {
		return nil, err
	}
	started := time.Now()
	seconds := strconv.Itoa(max(1, int(limit.Seconds())))
	log, err := exec.CommandContext(
		ctx, cbc, model, "timeMode", "elapsed", "sec", seconds, "ratioGap", "0", "allowableGap", "0.5", "solve", "solution", result,
	).
		CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("cbc: %w: %s", err, log)
	}
	s, err := read(result)
	if err != nil {
		return nil, err
	}
	s.Log, s.Took = log, time.Since(started)
	return s, nil
}

// read reads the file that CBC writes: a line that says how it ended, and one for each variable that is not 0.
func read(path string) (*Solution, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	if !lines.Scan() {
		return nil, fmt.Errorf("cbc wrote an empty solution: %w", lines.Err())
	}
	s := &Solution{
		Proven:     strings.HasPrefix(lines.Text(), "Optimal"),
		Infeasible: strings.HasPrefix(lines.Text(), "Infeasible") || strings.HasPrefix(lines.Text(), "Integer infeasible"),
		Values:     map[string]float64{},
	}
	for lines.Scan() {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(lines.Text()), "**"))
		if len(fields) < 3 {
			continue
		}
		value, err := strconv.ParseFloat(fields[2], 64)
		if err != nil {
			return nil, fmt.Errorf("cbc wrote %q: %w", lines.Text(), err)
		}
		s.Values[fields[1]] = value
	}
	return s, lines.Err()
}
