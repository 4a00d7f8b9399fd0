package main

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/gang/status"
)

// recording describes the events that a package records.
type recording struct {
	constants map[string]string // of strings, by name
	reasons   sets.Set[string]  // names of constants that are reasons, by type or name
	said      sets.Set[string]  // reasons that are literals or constants at the call
	passed    bool              // some reason comes from elsewhere in the package
}

// events are the reasons of all events that the code records.
func events(t *testing.T) sets.Set[string] {
	packages := map[string]*recording{}
	var calls []func()
	sources(t, ".", func(path string, file *ast.File) {
		dir := filepath.Dir(path)
		if packages[dir] == nil {
			packages[dir] = &recording{constants: map[string]string{}, reasons: sets.New[string](), said: sets.New[string]()}
		}
		p := packages[dir]
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GenDecl:
				p.declare(n)
			case *ast.CallExpr:
				if method, ok := n.Fun.(*ast.SelectorExpr); ok && method.Sel.Name == "Eventf" {
					calls = append(calls, func() { p.record(n.Args[3]) }) // once all constants are known
				}
			}
			return true
		})
	})
	for _, call := range calls {
		call()
	}
	all := sets.New[string]()
	for _, reason := range status.Reasons() { // which are no text in the code
		all.Insert(reason.String())
	}
	for _, p := range packages {
		all = all.Union(p.said)
		if p.passed {
			for name := range p.reasons {
				all.Insert(p.constants[name])
			}
		}
	}
	return all
}

func (p *recording) declare(declaration *ast.GenDecl) {
	if declaration.Tok != token.CONST {
		return
	}
	for _, spec := range declaration.Specs {
		value := spec.(*ast.ValueSpec)
		if len(value.Values) != 1 {
			continue
		}
		constant, ok := value.Values[0].(*ast.BasicLit)
		if !ok || constant.Kind != token.STRING {
			continue
		}
		name := value.Names[0].Name
		p.constants[name] = text(constant)
		if of, ok := value.Type.(*ast.Ident); ok && of.Name == "Reason" || strings.HasPrefix(name, "Reason") {
			p.reasons.Insert(name)
		}
	}
}

func (p *recording) record(reason ast.Expr) {
	if literal := text(reason); literal != "" {
		p.said.Insert(literal)
		return
	}
	if named, ok := reason.(*ast.Ident); ok && p.constants[named.Name] != "" {
		p.said.Insert(p.constants[named.Name])
		return
	}
	p.passed = true
}

var eventRow = regexp.MustCompile("(?m)^\\| `([A-Za-z]+)` \\|")

func TestTheReferenceOfEventsHasThoseOfTheCode(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "events.md"))
	if err != nil {
		t.Fatal(err)
	}
	described := sets.New[string]()
	for _, row := range eventRow.FindAllStringSubmatch(string(page), -1) {
		described.Insert(row[1])
	}
	if diff := cmp.Diff(sets.List(events(t)), sets.List(described)); diff != "" {
		t.Errorf("docs/reference/events.md, which is written by hand, and the code differ (-code +page):\n%s", diff)
	}
}
