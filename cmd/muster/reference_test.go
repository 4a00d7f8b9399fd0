package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/intstr"

	"muster.dev/muster/api/config"
)

// The pages of docs/reference are made of the code, and a test fails when one of them is not
// what the code says.
func compareReference(t *testing.T, name, title, about, body string) {
	t.Helper()
	path := filepath.Join("..", "..", "docs", "reference", name)
	text := "# " + title + "\n\n" + about + " This page is made of the code: `make reference` rewrites it.\n\n" + strings.TrimSpace(
		body,
	) + "\n"
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text, string(got)); diff != "" {
		t.Errorf("%s is stale, run 'make reference' (-code +page):\n%s", path, diff)
	}
}

// cell is text that may stand in a cell of a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(strings.TrimSpace(text))
}

func TestTheReferenceOfFlagsIsThatOfTheCommands(t *testing.T) {
	var body strings.Builder
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		if cmd.Runnable() && !cmd.HasSubCommands() {
			fmt.Fprintf(&body, "## %s\n\n%s.\n\n", cmd.CommandPath(), cmd.Short)
			header := "| flag | value | default | |\n| --- | --- | --- | --- |\n"
			cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
				value, usage := pflag.UnquoteUsage(flag)
				name := "`--" + flag.Name + "`"
				if flag.Shorthand != "" {
					name = "`-" + flag.Shorthand + "`, " + name
				}
				if flag.Deprecated != "" {
					usage += " (deprecated: " + flag.Deprecated + ")"
				}
				standard := ""
				if flag.DefValue != "" && flag.DefValue != "[]" {
					standard = "`" + flag.DefValue + "`"
				}
				fmt.Fprintf(&body, "%s| %s | %s | %s | %s |\n", header, name, cell(value), cell(standard), cell(usage))
				header = ""
			})
			body.WriteString("\n")
		}
		for _, child := range cmd.Commands() {
			visit(child)
		}
	}
	visit(newRootCommand())
	compareReference(t, "flags.md", "Commands and flags", "All commands of `muster`, and what they take.", body.String())
}

// sources parses the Go files of the main module, without tests, and passes each on.
func sources(t *testing.T, under string, each func(path string, file *ast.File)) {
	t.Helper()
	root := filepath.Join("..", "..", under)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "e2e" || entry.Name() == "build" || path != root && strings.HasPrefix(entry.Name(), ".")):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err == nil {
			each(path, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// text is the constant string that an expression of literals is.
func text(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		return constant.StringVal(constant.MakeFromLiteral(e.Value, e.Kind, 0))
	case *ast.BinaryExpr:
		return text(e.X) + text(e.Y)
	default:
		return ""
	}
}

// structure is a type of the configuration as its source has it.
type structure struct {
	doc    string
	fields map[string]string // the comments of fields by name
}

func TestTheReferenceOfTheConfigurationIsThatOfItsTypes(t *testing.T) {
	structures := map[string]structure{}
	sources(t, "api/config", func(_ string, file *ast.File) {
		for _, declaration := range file.Decls {
			general, ok := declaration.(*ast.GenDecl)
			if !ok || general.Tok != token.TYPE {
				continue
			}
			spec := general.Specs[0].(*ast.TypeSpec)
			s := structure{doc: general.Doc.Text(), fields: map[string]string{}}
			if of, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range of.Fields.List {
					for _, name := range field.Names {
						s.fields[name.Name] = field.Doc.Text()
					}
				}
			}
			structures[spec.Name.Name] = s
		}
	})
	var body strings.Builder
	seen := map[reflect.Type]bool{}
	describe(&body, structures, seen, reflect.TypeFor[config.Configuration](), reflect.ValueOf(config.Default()).Elem())
	compareReference(
		t,
		"configuration.md",
		"Configuration",
		"The fields of `config.muster.dev/v1alpha2` `MusterConfiguration`, with what `muster config default` prints for them. Arguments of "+
			"plugins (`pluginConfig`) are types of `api/config` as well.",
		body.String(),
	)
}

// describe writes a table for a type, and for the types of its fields. The value has its defaults,
// and is invalid for a type without any.
func describe(body *strings.Builder, structures map[string]structure, seen map[reflect.Type]bool, of reflect.Type, value reflect.Value) {
	if seen[of] {
		return
	}
	seen[of] = true
	about := structures[of.Name()]
	fmt.Fprintf(body, "## %s\n\n%s\n\n| field | type | default | |\n| --- | --- | --- | --- |\n", of.Name(), strings.TrimSpace(about.doc))
	type part struct {
		of    reflect.Type
		value reflect.Value
	}
	var parts []part
	for i := range of.NumField() {
		field := of.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		var now reflect.Value
		if value.IsValid() {
			now = value.Field(i)
		}
		inner, shown := field.Type, shownTypes.Replace(field.Type.String())
		for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice {
			inner = inner.Elem()
			if now.IsValid() && now.Kind() == reflect.Pointer {
				now = now.Elem()
			} else {
				now = reflect.Value{}
			}
		}
		if _, ours := structures[inner.Name()]; ours && inner.Kind() == reflect.Struct && strings.HasPrefix(inner.PkgPath(), "muster.dev/") {
			parts = append(parts, part{inner, now})
			now, shown = reflect.Value{}, strings.Replace(shown, inner.Name(), "["+inner.Name()+"](#"+strings.ToLower(inner.Name())+")", 1)
		}
		fmt.Fprintf(body, "| `%s` | %s | %s | %s |\n", name, shown, defaultOf(now), cell(about.fields[field.Name]))
	}
	body.WriteString("\n")
	for _, p := range parts {
		describe(body, structures, seen, p.of, p.value)
	}
}

// shownTypes says how types are shown.
var shownTypes = strings.NewReplacer("intstr.IntOrString", "number or per cent", "config.", "", "v1alpha1.", "", "v1.", "", "*", "")

// defaultOf is how a default is shown, "" for one that is empty.
func defaultOf(value reflect.Value) string {
	if !value.IsValid() || value.IsZero() && value.Kind() != reflect.Bool || value.Kind() == reflect.Map && value.Len() == 0 {
		return ""
	}
	if duration, ok := reflect.TypeAssert[interface{ ToUnstructured() any }](value); ok {
		return fmt.Sprintf("`%v`", duration.ToUnstructured())
	}
	if share, ok := reflect.TypeAssert[intstr.IntOrString](value); ok {
		return fmt.Sprintf("`%s`", share.String())
	}
	return fmt.Sprintf("`%v`", value.Interface())
}
