package bench

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestFiguresOfTheDocumentationArePrinted holds the names of figures in docs/benchmarks.md against the texts in the
// sources of the benchmarks that the section is about: a name is made of pieces of them, and of numbers.
func TestFiguresOfTheDocumentationArePrinted(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "benchmarks.md"))
	if err != nil {
		t.Fatal(err)
	}
	command, figure := regexp.MustCompile(`make (bench-[a-z0-9-]+|openb)\b`), regexp.MustCompile(`(?m)^figure ([a-zA-Z0-9_.]+)=`)
	pieces := piecesOf(t)
	names := 0
	for section := range strings.SplitSeq("\n"+string(text), "\n## ") {
		heading, _, _ := strings.Cut(section, "\n")
		if !command.MatchString(heading) {
			continue
		}
		for _, found := range figure.FindAllStringSubmatch(section, -1) {
			names++
			if !pieces.make(found[1]) {
				t.Errorf("%s: no benchmark prints figure %s", heading, found[1])
			}
		}
	}
	if names < 100 {
		t.Errorf("the documentation has %d figures: are they read as they are written?", names)
	}
}

// pieces are the texts of sources, without what is put into them.
type pieces map[string]bool

// piecesOf reads the sources of all benchmarks: this module, and tests elsewhere that measure.
func piecesOf(t *testing.T) pieces {
	t.Helper()
	all := pieces{"_": true}
	verb := regexp.MustCompile(`%[-+ #0]*[\d.*]*[a-zA-Z%]`)
	read := func(path string) {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			literal, is := node.(*ast.BasicLit)
			if !is || literal.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(text) {
				name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "figure "), "=")
				for _, piece := range verb.Split(name, -1) {
					if len(piece) > 1 || piece == "c" {
						all[piece] = true
					}
				}
			}
			return true
		})
	}
	for _, dir := range []string{
		".", "../conformance", filepath.Join(root, "loadaware"), filepath.Join(root, "server", "extender"), filepath.Join(root, "placement"),
	} {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			isTest := strings.HasSuffix(path, "_test.go")
			measures := slices.ContainsFunc([]string{"bench_test.go", "/placing_test.go", "/compare_test.go"}, func(end string) bool {
				return strings.HasSuffix(path, end)
			})
			if err == nil && filepath.Ext(path) == ".go" && (dir == "." && !isTest || measures) {
				read(path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// make says that a name can be made of pieces and numbers, one after the other.
func (p pieces) make(name string) bool {
	number := regexp.MustCompile(`^[0-9.]+(ms|s)?`)
	ends := make([]bool, len(name)+1) // where some pieces may end
	ends[0] = true
	for from := range name {
		if !ends[from] {
			continue
		}
		for to := from + 1; to <= len(name); to++ {
			if p[name[from:to]] || number.FindString(name[from:to]) == name[from:to] {
				ends[to] = true
			}
		}
	}
	return ends[len(name)]
}
