package fuzzcampaign

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"muster.dev/muster/e2e/gofiles"
)

// Target is a fuzz target.
type Target struct {
	// Dir is the directory of its package, from the root of the module, and Name that of the function.
	Dir, Name string
}

func (t Target) String() string { return t.Dir + " " + t.Name }

var declared = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(\w+ \*testing\.F\)`)

// Targets lists what a module declares, in the order of the directories. They are read off the files:
// "go test -list" would link every test of the module first, for minutes.
func Targets(module string) ([]Target, error) {
	paths, err := gofiles.In(module)
	if err != nil {
		return nil, err
	}
	var targets []Target
	for _, path := range paths {
		if !strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("list fuzz targets: %w", err)
		}
		dir, err := filepath.Rel(module, filepath.Dir(path))
		if err != nil {
			return nil, fmt.Errorf("list fuzz targets: %w", err)
		}
		for _, found := range declared.FindAllSubmatch(text, -1) {
			targets = append(targets, Target{Dir: filepath.ToSlash(dir), Name: string(found[1])})
		}
	}
	return targets, nil
}
