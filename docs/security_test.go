package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// testName is a test as pages name one.
var testName = regexp.MustCompile("`(Test[A-Z][A-Za-z0-9]+)`")

func TestTheTestsThatTheThreatModelNamesAreThere(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "SECURITY.md"))
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]bool{}
	for _, match := range testName.FindAllStringSubmatch(string(page), -1) {
		missing[match[1]] = true
	}
	if len(missing) == 0 {
		t.Fatal("it names no test")
	}
	err = filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != ".." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "build"):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		for name := range missing {
			if strings.Contains(string(text), "\nfunc "+name+"(t *testing.T)") {
				delete(missing, name)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range missing {
		t.Errorf("SECURITY.md names %s, and there is no such test", name)
	}
}
