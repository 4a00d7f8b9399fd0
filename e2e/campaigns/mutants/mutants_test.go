package mutants

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/e2e/binaries"
)

// fewest is how many mutants of a capability tell something.
const fewest = 12

func TestEveryMutantFitsTheCodeAndCompiles(t *testing.T) {
	repository, err := binaries.RepositoryDir(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all, err := Capabilities()
	if err != nil {
		t.Fatal(err)
	}
	dirs := sets.New[string]()
	for _, c := range all {
		for i := range c.Mutants {
			dirs.Insert("./" + path.Dir(c.Mutants[i].File))
		}
	}
	exports := exportsOf(t, repository, sets.List(dirs))
	for _, c := range all {
		t.Run(c.Name, func(t *testing.T) {
			names := sets.New[string]()
			for i := range c.Mutants {
				m := &c.Mutants[i]
				if names.Has(m.Name) {
					t.Errorf("there are two of %q", m.Name)
				}
				if m.Campaign != "" && c.Campaigns[m.Campaign] == nil {
					t.Errorf("mutant %q: there is no campaign %s", m.Name, m.Campaign)
				}
				names.Insert(m.Name)
				text, err := m.Apply(repository)
				if err != nil {
					t.Error(err)
					continue
				}
				if err := compiles(m.path(repository), text, exports); err != nil {
					t.Errorf("mutant %q: %v", m.Name, err)
				}
			}
			if len(names) < fewest {
				t.Errorf("there are %d, too few to tell anything", len(names))
			}
		})
	}
}

// exportsOf are the files with what packages export that those in some directories are made of.
func exportsOf(t *testing.T, repository string, dirs []string) map[string]string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", append([]string{"list", "-export", "-deps", "-f",
		"{{.ImportPath}} {{.Export}}"}, dirs...)...)
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
		if _, err := (&Mutant{Name: "m", File: "gang/core/done.go", Old: old}).Apply(repository); err == nil {
			t.Errorf("%q is in the file once", old)
		}
	}
}
