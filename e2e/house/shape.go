package house

import (
	"bytes"
	"go/ast"
	"maps"
	"reflect"
	"slices"
	"strings"

	"muster.dev/muster/api/config"
)

// ShapeRule says what is counted of the main module's product code.
const ShapeRule = `Product code is the Go of the main module without tests and generated files.

product_lines counts its lines. files_per_package is the mean number of its files in a package.
options counts the fields of config.muster.dev/v1alpha2 that hold a value: a list of objects counts once, with
the fields of one object, and arguments of plugins do not count.
circles counts the pairs of top-level directories that import packages of each other.
what_if_models counts the packages above predicates in which something calls Suppose, which judges a node in
another state than it has: a model of "what if" of their own.
places_that_assume counts the functions outside package cluster that call AssumeAsJudged: each judges one pod, and has
an answer of its own to a node that has changed meanwhile. Plans, which are made again, call AssumeAll.
`

// shape holds the measurements of product code as a whole.
type shape struct {
	lines, files, packages int
	options                int
	circles                [][2]string // of top-level directories
	supposing              []string    // packages
	assuming               []string    // functions
}

func shapeOf(files []*file) shape {
	s := shape{options: options(reflect.TypeFor[config.Configuration]())}
	packages, imported, supposing := map[string]bool{}, map[[2]string]bool{}, map[string]bool{}
	for _, f := range files {
		if f.test {
			continue
		}
		s.files++
		s.lines += bytes.Count(f.text, []byte("\n"))
		packages[f.dir()] = true
		for _, dir := range f.imports() {
			imported[[2]string{top(f.dir()), top(dir)}] = true
		}
		if !within(f.dir(), "predicates") && len(callers(f, "Suppose")) > 0 {
			supposing[f.dir()] = true
		}
		if !within(f.dir(), "cluster") {
			s.assuming = append(s.assuming, callers(f, "AssumeAsJudged")...)
		}
	}
	s.packages = len(packages)
	s.supposing = slices.Sorted(maps.Keys(supposing))
	for pair := range imported {
		if pair[0] < pair[1] && imported[[2]string{pair[1], pair[0]}] {
			s.circles = append(s.circles, pair)
		}
	}
	slices.SortFunc(s.circles, func(a, b [2]string) int { return strings.Compare(a[0]+a[1], b[0]+b[1]) })
	slices.Sort(s.assuming)
	return s
}

// filesPerPackage returns the mean, 0 without packages.
func (s *shape) filesPerPackage() float64 { return float64(s.files) / float64(max(s.packages, 1)) }

// top returns the top-level directory of a package.
func top(dir string) string {
	name, _, _ := strings.Cut(dir, "/")
	return name
}

// options counts the fields that hold a value in documents of a type.
func options(of reflect.Type) (count int) {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	if of.Kind() == reflect.Interface {
		return 0
	}
	if of.Kind() != reflect.Struct || !strings.HasPrefix(of.PkgPath(), module) {
		return 1
	}
	for _, f := range reflect.VisibleFields(of) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			count += options(f.Type)
		}
	}
	return count
}

// callers returns the functions of a file that call a method of one of these names, with their package.
func callers(f *file, methods ...string) (functions []string) {
	for _, declaration := range f.syntax.Decls {
		function, is := declaration.(*ast.FuncDecl)
		if !is || function.Body == nil {
			continue
		}
		calls := false
		ast.Inspect(function.Body, func(n ast.Node) bool {
			if call, is := n.(*ast.CallExpr); is {
				if method, is := call.Fun.(*ast.SelectorExpr); is && slices.Contains(methods, method.Sel.Name) {
					calls = true
				}
			}
			return !calls
		})
		if calls {
			functions = append(functions, f.dir()+"."+function.Name.Name)
		}
	}
	return functions
}
