package manifests

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestADocumentIsWhereAReaderFindsIt(t *testing.T) {
	t.Parallel()
	const fence = "```"
	repository := fstest.MapFS{
		"docs/a.md": {Data: []byte("# A\n" + fence + "yaml\napiVersion: v1\nkind: A\n---\nx: 1\n" + fence + "\n" +
			"1. In a list\n\n   " + fence + "yaml\n   y:\n     z: 2\n   " + fence + "\n\n" + fence + "sh\nz: 3\n" + fence + "\n")},
		"docs/b/c.yaml": {Data: []byte("# a comment\nkind: B\n")},
		"other.md":      {Data: []byte(fence + "yaml\no: 1\n" + fence + "\n")},
		"docs/d.md":     {Data: []byte(fence + "yaml\n- e\n" + fence + "\n")},
	}
	documents, err := Documents(repository, "docs")
	if err != nil {
		t.Fatal(err)
	}
	type found struct {
		At, Text string
		Object   bool
	}
	var got []found
	for _, d := range documents {
		got = append(got, found{d.At(), d.Text, d.IsObject()})
	}
	want := []found{
		{"docs/a.md:3", "apiVersion: v1\nkind: A\n", true},
		{"docs/a.md:6", "x: 1\n", false},
		{"docs/a.md:11", "y:\n  z: 2\n", false},
		{"docs/b/c.yaml:1", "# a comment\nkind: B\n", false},
		{"docs/d.md:2", "- e\n", false},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
}

func TestADocumentThatIsNoYAMLIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"a: 1\na: 2\n", "a: [\n"} {
		repository := fstest.MapFS{"a.md": {Data: []byte("```yaml\n" + text + "```\n")}}
		if _, err := Documents(repository, "a.md"); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func TestPagesNameTheVersionsThatTheyAreHeldAgainst(t *testing.T) {
	t.Parallel()
	pins, err := os.ReadFile("definitions/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for line := range strings.Lines(string(pins)) {
		if module, version, ok := strings.Cut(strings.TrimSpace(line), " v"); ok {
			versions[module] = version
		}
	}
	for page, module := range map[string]string{
		"jobset": "sigs.k8s.io/jobset", "kubeflow-trainer": "github.com/kubeflow/trainer/v2",
		"kuberay": "github.com/ray-project/kuberay/ray-operator", "kueue": "sigs.k8s.io/kueue", "leaderworkerset": "sigs.k8s.io/lws",
		"mpi-operator": "github.com/kubeflow/mpi-operator", "operators": "github.com/NVIDIA/KAI-scheduler",
		"spark": "github.com/kubeflow/spark-operator/v2",
	} {
		content, err := os.ReadFile(filepath.Join("../../docs/beside", page+".md"))
		if err != nil {
			t.Fatal(err)
		}
		version := versions[module]
		delete(versions, module)
		if text := strings.Join(strings.Fields(string(content)), " "); version == "" || !strings.Contains(text, " "+version) {
			t.Errorf("docs/beside/%s.md does not say that it is held against %s %s", page, module, version)
		}
	}
	for module := range versions {
		t.Errorf("no page is held against %s", module)
	}
}
