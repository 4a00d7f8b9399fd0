package gangmutants

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Mutant is a way to break the code.
type Mutant struct {
	Name string // what is wrong then
	File string // in package gang
	// Old is in the file once, and New stands in its place.
	Old, New string
}

// All are all that there are.
func All() []Mutant {
	var all []Mutant
	for _, of := range [][]Mutant{starts(), ahead(), plans(), tries(), evictions(), lives(), groups(), shell()} {
		all = append(all, of...)
	}
	return all
}

// Path of the file, below that of the repository.
func (m Mutant) Path(repository string) string { return filepath.Join(repository, "gang", m.File) }

// Apply returns the text of the file with the break.
func (m Mutant) Apply(repository string) ([]byte, error) {
	text, err := os.ReadFile(m.Path(repository))
	if err != nil {
		return nil, fmt.Errorf("mutant %q: %w", m.Name, err)
	}
	if count := strings.Count(string(text), m.Old); count != 1 {
		return nil, fmt.Errorf("mutant %q: its text is %d times in gang/%s, want once: the code has moved", m.Name, count, m.File)
	}
	return []byte(strings.Replace(string(text), m.Old, m.New, 1)), nil
}
