package mutants_test

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/campaigns/gangmutants"
	"muster.dev/muster/e2e/campaigns/mutants"
	"muster.dev/muster/e2e/campaigns/reschedulermutants"
)

// sets are all that there are.
func sets() []*mutants.Set { return []*mutants.Set{gangmutants.Set(), reschedulermutants.Set()} }

func TestEveryMutantFitsTheCodeAndCompiles(t *testing.T) {
	repository, err := binaries.RepositoryDir(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range sets() {
		t.Run(set.Name, func(t *testing.T) {
			exports, names := exportsOf(t, repository, set.Dir), map[string]bool{}
			for _, m := range set.Mutants {
				if names[m.Name] {
					t.Errorf("there are two of %q", m.Name)
				}
				names[m.Name] = true
				text, err := set.Apply(repository, m)
				if err != nil {
					t.Error(err)
					continue
				}
				if err := compiles(set.Path(repository, m), text, exports); err != nil {
					t.Errorf("mutant %q: %v", m.Name, err)
				}
			}
			if len(names) < 20 {
				t.Errorf("there are %d, too few to tell anything", len(names))
			}
		})
	}
}

// exportsOf are the files with what packages export that those in a directory are made of.
func exportsOf(t *testing.T, repository, dir string) map[string]string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", "./"+dir+"/...")
	list.Dir, list.Env = repository, append(os.Environ(), "GOWORK=off")
	output, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(output)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		exports[path] = file
	}
	return exports
}

// compiles checks the types of a package of which one file has another text.
func compiles(broken string, text []byte, exports map[string]string) error {
	files := token.NewFileSet()
	paths, err := filepath.Glob(filepath.Join(filepath.Dir(broken), "*.go"))
	if err != nil {
		return err
	}
	var parsed []*ast.File
	for _, path := range paths {
		var source any // from the file
		switch {
		case strings.HasSuffix(path, "_test.go"):
			continue
		case path == broken:
			source = text
		}
		file, err := parser.ParseFile(files, path, source, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		parsed = append(parsed, file)
	}
	config := types.Config{
		Importer: importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }),
	}
	_, err = config.Check("broken", files, parsed, nil)
	return err
}

func TestAMutantWhoseTextIsNotThereOnceIsNone(t *testing.T) {
	repository, err := binaries.RepositoryDir(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, old := range []string{"package core\n\npackage core", "t"} {
		if _, err := gangmutants.Set().Apply(repository, mutants.Mutant{Name: "m", File: "core/done.go", Old: old}); err == nil {
			t.Errorf("%q is in the file once", old)
		}
	}
}
