package mutants

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"muster.dev/muster/e2e/campaigns/faultcampaign"
)

// Mutant is a way to break the code.
type Mutant struct {
	Name string // what is wrong then
	File string // in the directory of its Set
	Old  string // is in the file once
	New  string // stands in its place
}

// All are the mutants of some lists.
func All[M ~struct{ Name, File, Old, New string }](lists ...[]M) []Mutant {
	var all []Mutant
	for _, list := range lists {
		for _, m := range list {
			all = append(all, Mutant(m))
		}
	}
	return all
}

// Set is the mutants of a part of muster.
type Set struct {
	Name string // as it stands in figures
	// Dir has the code. It is relative to the root of the repository.
	Dir     string
	Mutants []Mutant
	// Tests are run one after the other until one fails, after those of the package of the file.
	Tests []Tests
	// Campaign is the one that looks for what a mutant breaks.
	Campaign func(Mutant) faultcampaign.Campaign
}

// Tests are runs of go test.
type Tests struct {
	Packages string // patterns, with spaces
	Env      []string
}

// Path of the file of a mutant, below that of the repository.
func (s *Set) Path(repository string, m Mutant) string {
	return filepath.Join(repository, s.Dir, m.File)
}

// Apply returns the text of the file of a mutant with the break.
func (s *Set) Apply(repository string, m Mutant) ([]byte, error) {
	text, err := os.ReadFile(s.Path(repository, m))
	if err != nil {
		return nil, fmt.Errorf("mutant %q: %w", m.Name, err)
	}
	if count := strings.Count(string(text), m.Old); count != 1 {
		return nil, fmt.Errorf("mutant %q: its text is %d times in %s/%s, want once: the code has moved", m.Name, count, s.Dir, m.File)
	}
	return []byte(strings.Replace(string(text), m.Old, m.New, 1)), nil
}
