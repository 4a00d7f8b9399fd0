package house

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"muster.dev/muster/e2e/gofiles"
)

// module is the path of the main module.
const module = "muster.dev/muster"

// file is a file of Go source.
type file struct {
	path   string // from the root, with slashes
	test   bool   // it is part of a test
	text   []byte
	syntax *ast.File
}

// dir is the directory of the file's package, "." for the root.
func (f *file) dir() string { return filepath.ToSlash(filepath.Dir(f.path)) }

// imports are the packages of the main module that the file imports, as directories.
func (f *file) imports() []string {
	var dirs []string
	for _, spec := range f.syntax.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if dir, ours := strings.CutPrefix(path, module+"/"); err == nil && ours {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// read reads all Go source under a root, without modules below it, generated files and what is not
// ours to write.
func read(root string) ([]*file, error) {
	paths, err := gofiles.In(root)
	if err != nil {
		return nil, err
	}
	var files []*file
	for _, path := range paths {
		f, err := parse(root, path)
		if err != nil {
			return nil, fmt.Errorf("read the source: %w", err)
		}
		if f != nil {
			files = append(files, f)
		}
	}
	return files, nil
}

// parse is nil for a file that is generated.
func parse(root, path string) (*file, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if isGenerated(text) {
		return nil, nil
	}
	syntax, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		return nil, err
	}
	relative, err := filepath.Rel(root, path)
	return &file{path: filepath.ToSlash(relative), test: strings.HasSuffix(path, "_test.go"), text: text, syntax: syntax}, err
}
