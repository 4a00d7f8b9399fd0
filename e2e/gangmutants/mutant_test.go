package gangmutants

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

	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/e2e/binaries"
)

func TestEveryMutantFitsTheCode(t *testing.T) {
	repository, err := binaries.RepositoryDir(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	names := sets.New[string]()
	for _, m := range All() {
		if _, err := m.Apply(repository); err != nil {
			t.Error(err)
		}
		if names.Has(m.Name) {
			t.Errorf("there are two of %q", m.Name)
		}
		names.Insert(m.Name)
	}
	if len(names) < 20 {
		t.Errorf("there are %d, too few to tell anything", len(names))
	}
}

func TestEveryMutantCompiles(t *testing.T) {
	repository, err := binaries.RepositoryDir(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	exports := exportsOf(t, repository)
	for _, m := range All() {
		text, err := m.Apply(repository)
		if err != nil {
			t.Error(err)
			continue
		}
		if err := compiles(m, repository, text, exports); err != nil {
			t.Errorf("mutant %q: %v", m.Name, err)
		}
	}
}

// exportsOf are the files with what packages export that package gang is made of.
func exportsOf(t *testing.T, repository string) map[string]string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", "./gang/...")
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
func compiles(m Mutant, repository string, text []byte, exports map[string]string) error {
	files := token.NewFileSet()
	paths, err := filepath.Glob(filepath.Join(filepath.Dir(m.Path(repository)), "*.go"))
	if err != nil {
		return err
	}
	var parsed []*ast.File
	for _, path := range paths {
		var source any // from the file
		switch {
		case strings.HasSuffix(path, "_test.go"):
			continue
		case path == m.Path(repository):
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
	_, err = config.Check("gang", files, parsed, nil)
	return err
}

func TestAMutantWhoseTextIsNotThereOnceIsNone(t *testing.T) {
	repository, err := binaries.RepositoryDir(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, old := range []string{"package core\n\npackage core", "t"} {
		if _, err := (Mutant{Name: "m", File: "core/done.go", Old: old}).Apply(repository); err == nil {
			t.Errorf("%q is in the file once", old)
		}
	}
}
