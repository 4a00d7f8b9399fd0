package mutants

import (
	"go/ast"
	"go/build"
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

func TestEveryMutantFitsTheCode(t *testing.T) {
	repository, all := everything(t)
	for _, c := range all {
		names := sets.New[string]()
		for i := range c.Mutants {
			m := &c.Mutants[i]
			if names.Has(m.Name) {
				t.Errorf("%s: there are two of %q", c.Name, m.Name)
			}
			names.Insert(m.Name)
			if m.Campaign != "" && c.Campaigns[m.Campaign] == nil {
				t.Errorf("mutant %q: there is no campaign %s", m.Name, m.Campaign)
			}
			if _, err := m.Apply(repository); err != nil {
				t.Error(err)
			}
		}
		if len(names) < fewest {
			t.Errorf("%s has %d, too few to tell anything", c.Name, len(names))
		}
	}
}

func TestEveryMutantCompiles(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles the packages that are broken, and checks hundreds of variants: make test-long runs this")
	}
	repository, all := everything(t)
	dirs := sets.New[string]()
	for _, c := range all {
		for i := range c.Mutants {
			dirs.Insert("./" + path.Dir(c.Mutants[i].File))
		}
	}
	exports, files := exportsOf(t, repository, sets.List(dirs)), token.NewFileSet()
	of := checker{
		files: files, parsed: map[string]*ast.File{},
		imports: importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }),
	}
	for _, c := range all {
		for i := range c.Mutants {
			m := &c.Mutants[i]
			text, err := m.Apply(repository)
			if err != nil {
				t.Error(err)
				continue
			}
			if err := of.compiles(m.path(repository), text); err != nil {
				t.Errorf("mutant %q: %v", m.Name, err)
			}
		}
	}
}

// everything is the root of the repository, and all capabilities.
func everything(t *testing.T) (repository string, all []*Capability) {
	t.Helper()
	repository, err := binaries.RepositoryDir(t.Context())
	if err == nil {
		all, err = Capabilities()
	}
	if err != nil {
		t.Fatal(err)
	}
	return repository, all
}

// exportsOf are the files with what packages export that those in some directories are made of.
func exportsOf(t *testing.T, repository string, dirs []string) map[string]string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", append([]string{
		"list", "-export", "-deps", "-f",
		"{{.ImportPath}} {{.Export}}",
	}, dirs...)...)
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

// checker checks the types of packages, and keeps what does not change between two.
type checker struct {
	files   *token.FileSet
	imports types.Importer
	parsed  map[string]*ast.File // by path
}

// compiles checks a package with another text for one file.
func (c *checker) compiles(broken string, text []byte) error {
	paths, err := filepath.Glob(filepath.Join(filepath.Dir(broken), "*.go"))
	if err != nil {
		return err
	}
	var all []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file := c.parsed[path]
		switch {
		case path == broken:
			file, err = parser.ParseFile(c.files, path, text, parser.SkipObjectResolution)
		case file == nil:
			file, err = parser.ParseFile(c.files, path, nil, parser.SkipObjectResolution)
			c.parsed[path] = file
		}
		if err != nil {
			return err
		}
		if built, err := build.Default.MatchFile(filepath.Split(path)); err != nil || !built {
			continue
		}
		all = append(all, file)
	}
	_, err = (&types.Config{Importer: c.imports}).Check("broken", c.files, all, nil)
	return err
}

func TestAMutantWhoseTextIsNotThereOnceIsNone(t *testing.T) {
	repository, err := binaries.RepositoryDir(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, old := range []string{"package core\n\npackage core", "t"} {
		if _, err := (&Mutant{Name: "m", File: "gang/core/members.go", Old: old}).Apply(repository); err == nil {
			t.Errorf("%q is in the file once", old)
		}
	}
}
