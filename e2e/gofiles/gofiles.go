// Package gofiles finds the Go source of a module.
package gofiles

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// In returns the paths of all Go files of a module, in the order of their directories, without modules
// below it and without testdata.
func In(module string) (paths []string, err error) {
	err = filepath.WalkDir(module, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != module && foreign(path, entry):
			return filepath.SkipDir
		case !entry.IsDir() && filepath.Ext(path) == ".go":
			paths = append(paths, path)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the Go files of %s: %w", module, err)
	}
	return paths, nil
}

// foreign says that there is nothing of the module in a directory below it.
func foreign(path string, entry fs.DirEntry) bool {
	_, err := os.Stat(filepath.Join(path, "go.mod"))
	return err == nil || entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".")
}
