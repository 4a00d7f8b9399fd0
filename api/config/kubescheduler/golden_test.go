package kubescheduler

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the golden files of testdata instead of comparing with them")

func TestFilesOfEveryVersionAreConvertedWithEveryWarning(t *testing.T) {
	for _, file := range glob(t, "testdata/valid/*.yaml") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			document, warnings, err := Convert(read(t, file))
			if err != nil {
				t.Fatal(err)
			}
			converted, err := yaml.JSONToYAML(document)
			if err != nil {
				t.Fatal(err)
			}
			var golden strings.Builder
			for _, warning := range warnings {
				golden.WriteString("# " + warning + "\n")
			}
			golden.Write(converted)
			compareGolden(t, strings.TrimSuffix(file, ".yaml")+".converted", golden.String())
		})
	}
}

func TestFilesOfEveryVersionAreRefusedWithEveryErrorAndItsPlace(t *testing.T) {
	for _, file := range glob(t, "testdata/invalid/*.yaml") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			document, _, err := Convert(read(t, file))
			all, ok := errors.AsType[utilerrors.Aggregate](err)
			if !ok {
				t.Fatalf("converted to %s with error %v, want an Aggregate", document, err)
			}
			var lines []string
			for _, e := range all.Errors() {
				lines = append(lines, e.Error())
			}
			compareGolden(t, strings.TrimSuffix(file, ".yaml")+".errors", strings.Join(lines, "\n")+"\n")
		})
	}
}

func compareGolden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(read(t, path)), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func glob(t testing.TB, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no files match %s (%v)", pattern, err)
	}
	return files
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
