package source

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// reader finds the readers that there are.
var reader = regexp.MustCompile(`(?m)^var _ Reader = \(\*(\w+)\)\(nil\)`)

// TestEveryReaderIsTestedAndFuzzed asks for both by their names: nobody has checked what readers read.
func TestEveryReaderIsTestedAndFuzzed(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	found := reader.FindAllStringSubmatch(all.String(), -1)
	if len(found) == 0 {
		t.Fatal("there is no reader")
	}
	for _, match := range found {
		for _, name := range []string{"Test" + match[1], "Fuzz" + match[1]} {
			if !strings.Contains(all.String(), "func "+name+"(") {
				t.Errorf("there is no %s", name)
			}
		}
	}
}
