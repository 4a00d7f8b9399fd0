package testtimes

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

const (
	// usual is the bound on the time of a package that the budget does not name, in seconds.
	usual = 10.0
	// leeway is by how much a package may be slower than it should: machines differ, and so do runs.
	leeway = 1.5
)

// Budget is how long packages should take, in seconds.
type Budget map[string]float64

// ReadBudget reads lines of seconds and a package. What follows # is a comment.
func ReadBudget(r io.Reader) (Budget, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read the budget: %w", err)
	}
	budget := Budget{}
	for i, line := range strings.Split(string(text), "\n") {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if len(fields) != 2 {
			return nil, fmt.Errorf("line %d of the budget: %q is not seconds and a package", i+1, line)
		}
		seconds, err := strconv.ParseFloat(fields[0], 64)
		if err != nil || math.IsNaN(seconds) || math.IsInf(seconds, 0) || seconds <= 0 {
			return nil, fmt.Errorf("line %d of the budget: %q are no seconds", i+1, fields[0])
		}
		if _, twice := budget[fields[1]]; twice {
			return nil, fmt.Errorf("line %d of the budget: %s has two", i+1, fields[1])
		}
		budget[fields[1]] = seconds
	}
	return budget, nil
}

// Over names the packages that took more than one and a half times what they should.
func (b Budget) Over(times *Times) []string {
	var over []string
	for _, pkg := range slices.Sorted(maps.Keys(times.packages)) {
		should, named := b[pkg]
		if !named {
			should = usual
		}
		if took := times.packages[pkg]; took > leeway*should {
			over = append(over, fmt.Sprintf("%s took %.1f s, and should take %g", pkg, took, should))
		}
	}
	return over
}

// Write writes the budget of a run: what each package took, if that is more than usual. What the run did not have
// keeps the budget that it has.
func (b Budget) Write(w io.Writer, times *Times) error {
	now := maps.Clone(b)
	if now == nil {
		now = Budget{}
	}
	for pkg, took := range times.packages {
		if delete(now, pkg); took > usual {
			now[pkg] = math.Ceil(took)
		}
	}
	var text strings.Builder
	fmt.Fprintf(&text, "# Seconds that packages should take; others %g. cmd/testtimes -write made it of a run.\n", usual)
	for _, pkg := range slices.Sorted(maps.Keys(now)) {
		fmt.Fprintf(&text, "%g %s\n", now[pkg], pkg)
	}
	if _, err := io.WriteString(w, text.String()); err != nil {
		return fmt.Errorf("write the budget: %w", err)
	}
	return nil
}
