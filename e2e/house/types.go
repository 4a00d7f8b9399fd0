package house

import (
	"go/ast"
	"slices"
	"strings"
	"unicode/utf8"
)

// size is how large a type is.
type size struct {
	name    string // with the directory of its package
	methods int
	fields  int // 0 of what is no struct
}

// sizes measures all types that are declared outside of tests.
func sizes(files []*file) []*size {
	byName := map[string]*size{}
	var all []*size
	of := func(f *file, name string) *size {
		name = f.dir() + "." + name
		if byName[name] == nil {
			byName[name] = &size{name: name}
			all = append(all, byName[name])
		}
		return byName[name]
	}
	for _, f := range files {
		if f.test {
			continue
		}
		for _, declared := range f.syntax.Decls {
			switch declared := declared.(type) {
			case *ast.FuncDecl:
				if declared.Recv != nil {
					of(f, receiver(declared.Recv.List[0].Type)).methods++
				}
			case *ast.GenDecl:
				for _, spec := range declared.Specs {
					if spec, is := spec.(*ast.TypeSpec); is {
						of(f, spec.Name.Name).fields = fields(spec.Type)
					}
				}
			}
		}
	}
	return all
}

// receiver is the name of a method's type.
func receiver(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.StarExpr:
		return receiver(of.X)
	case *ast.IndexExpr:
		return receiver(of.X)
	case *ast.IndexListExpr:
		return receiver(of.X)
	case *ast.Ident:
		return of.Name
	default:
		return ""
	}
}

func fields(of ast.Expr) int {
	structure, is := of.(*ast.StructType)
	if !is {
		return 0
	}
	count := 0
	for _, field := range structure.Fields.List {
		count += max(1, len(field.Names))
	}
	return count
}

// nilChecks are the comparisons with nil of fields of some types of a package, in their methods: "e.x == nil".
func nilChecks(files []*file, dir string, types []string) int {
	count := 0
	for _, f := range files {
		if f.test || f.dir() != dir {
			continue
		}
		for _, declared := range f.syntax.Decls {
			method, is := declared.(*ast.FuncDecl)
			if !is || method.Recv == nil || !slices.Contains(types, receiver(method.Recv.List[0].Type)) || len(method.Recv.List[0].Names) == 0 {
				continue
			}
			count += comparisons(method.Body, method.Recv.List[0].Names[0].Name)
		}
	}
	return count
}

func comparisons(body ast.Node, receiver string) int {
	count := 0
	ast.Inspect(body, func(n ast.Node) bool {
		if compared, is := n.(*ast.BinaryExpr); is && isNil(compared.Y) && isField(compared.X, receiver) {
			count++
		}
		return true
	})
	return count
}

func isNil(e ast.Expr) bool {
	name, is := e.(*ast.Ident)
	return is && name.Name == "nil"
}

func isField(e ast.Expr, of string) bool {
	selector, is := e.(*ast.SelectorExpr)
	if !is {
		return false
	}
	name, is := selector.X.(*ast.Ident)
	return is && name.Name == of
}

// longLines are how many lines of code have more columns than that; a tab counts for one, as for the
// linter. Markers of kubebuilder do not count: they cannot be broken.
func longLines(files []*file, columns int) int {
	count := 0
	for _, f := range files {
		for line := range strings.Lines(string(f.text)) {
			marker := strings.HasPrefix(strings.TrimSpace(line), "// +kubebuilder:")
			if !marker && utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > columns {
				count++
			}
		}
	}
	return count
}
