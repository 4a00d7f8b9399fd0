package document

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func FuzzConvertNeverPanicsAndWritesAValidDocumentThatStaysAsItIs(f *testing.F) {
	for _, pattern := range []string{"../kubescheduler/testdata/*/*.yaml", "../v1alpha1/testdata/*/*.yaml", "../v1alpha2/testdata/*/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatalf("no files match %s (%v)", pattern, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Add([]byte(`{"apiVersion": "v1", "kind": "Policy", "predicates": [{"name": "PodFitsResources"}], "priorities": []}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		document, warnings, err := Convert(data)
		if err != nil {
			if strings.Contains(err.Error(), "Internal error") {
				t.Errorf("the strict check let through what does not decode: %v", err)
			}
			return
		}
		cfg, _, err := Decode(document)
		if err != nil {
			t.Fatalf("converted to a document that is refused: %v\n%s", err, document)
		}
		again, more, err := Convert(data)
		if diff := cmp.Diff(string(document), string(again)); err != nil || diff != "" || !cmp.Equal(warnings, more) {
			t.Errorf("converted a second time to another document (%v), or with other warnings:\n%s", err, diff)
		}
		kept, _, err := Convert(document)
		if err != nil || string(kept) != string(document) {
			t.Errorf("the document that was written does not stay as it is (%v):\n%s\nof %+v", err, kept, cfg)
		}
	})
}
