package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"
)

// logKeys are the keys of log lines. What a line is about has one name wherever it is logged:
// pods and gangs as namespace/name, nodes, profiles and plans by name, classes by their hash, errors as err.
func logKeys() sets.Set[string] {
	return sets.New(
		"pod",
		"node",
		"profile",
		"class",
		"gang",
		"plan",
		"policy",
		"verb",
		"request",
		"err",
		"address",
		"annotation",
		"atMost",
		"before",
		"beneficiaries",
		"bytesIn",
		"bytesOut",
		"certFile",
		"claim",
		"configMap",
		"elapsed",
		"endpoint",
		"expires",
		"file",
		"flag",
		"from",
		"lines",
		"listener",
		"lock",
		"managesNodeMetrics",
		"mode",
		"namespace",
		"now",
		"outcome",
		"owner",
		"panic",
		"pause",
		"phase",
		"pods",
		"query",
		"reason",
		"reportsToNodeMetrics",
		"requestClass",
		"resource",
		"secret",
		"source",
		"stack",
		"status",
		"steps",
		"summary",
		"tls",
		"took",
		"value",
		"version",
		"warning",
	)
}

func TestLogLinesNameOneThingInOneWay(t *testing.T) {
	known, used := logKeys(), sets.Set[string]{}
	files := token.NewFileSet()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "e2e" || entry.Name() == "build" || path != root && strings.HasPrefix(entry.Name(), ".")):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			for _, key := range keysOf(call) {
				if used.Insert(key); !known.Has(key) {
					t.Errorf(
						"%s: %q is no key of log lines: take one of logKeys, or add it there if it names something new", files.Position(call.Pos()), key,
					)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if unused := known.Difference(used); unused.Len() > 0 {
		t.Errorf("no line has the keys %v: take them off the list", sets.List(unused))
	}
}

// keysOf are the keys that a call logs, none if it is no call of a logger.
func keysOf(call *ast.CallExpr) (keys []string) {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !isLogger(method.X) {
		return nil
	}
	args := call.Args
	switch method.Sel.Name {
	case "Debug", "Info", "Warn", "Error":
		args = args[1:] // after the message
	case "With":
	default:
		return nil
	}
	for i := 0; i < len(args); i++ {
		if attribute, ok := args[i].(*ast.CallExpr); ok { // slog.String(key, value)
			keys = append(keys, literal(attribute.Args[0]))
		} else {
			keys = append(keys, literal(args[i]))
			i++ // its value
		}
	}
	return keys
}

// isLogger says that an expression is called as loggers are.
func isLogger(e ast.Expr) bool {
	name := ""
	switch e := e.(type) {
	case *ast.Ident:
		name = e.Name
	case *ast.SelectorExpr:
		name = e.Sel.Name
	}
	return name == "log" || strings.EqualFold(name, "logger")
}

// literal is a constant string, or what stands in its place.
func literal(e ast.Expr) string {
	if constant, ok := e.(*ast.BasicLit); ok {
		if text, err := strconv.Unquote(constant.Value); err == nil {
			return text
		}
	}
	return "(not a constant)"
}
