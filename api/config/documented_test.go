package config

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

func TestEveryTypeAndFieldIsDocumented(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files (%v)", err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(node ast.Node) bool {
			declaration, ok := node.(*ast.GenDecl)
			if !ok || declaration.Tok != token.TYPE {
				return true
			}
			spec := declaration.Specs[0].(*ast.TypeSpec)
			if !strings.HasPrefix(declaration.Doc.Text(), spec.Name.Name+" ") {
				t.Errorf("%s: type %s has no doc comment that begins with its name", file, spec.Name)
			}
			structure, ok := spec.Type.(*ast.StructType)
			if !ok {
				return false
			}
			for _, field := range structure.Fields.List {
				for _, name := range field.Names {
					if !strings.HasPrefix(field.Doc.Text(), name.Name+" ") {
						t.Errorf("%s: field %s.%s has no doc comment that begins with its name", file, spec.Name, name)
					}
				}
			}
			return false
		})
	}
}
