package release

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestChecksumsAndProvenanceAreOfAllFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"b.tar.gz", "a.tgz"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	digests, err := Digests(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteChecksums(filepath.Join(dir, "checksums.txt"), digests); err != nil {
		t.Fatal(err)
	}
	check := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", "checksums.txt")
	check.Dir = dir
	if out, err := check.CombinedOutput(); err != nil || string(out) != "a.tgz: OK\nb.tar.gz: OK\n" {
		t.Errorf("sha256sum says %q, error %v", out, err)
	}

	path := filepath.Join(dir, "provenance.json")
	origin := Origin{Source: "git.example.com/a/muster", Revision: "0f0f", Version: "1.2.3", Go: "go1.26.8", Builder: "https://example.com/ci"}
	if err := WriteProvenance(path, origin, digests); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got statement
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	want := []subject{
		{"a.tgz", map[string]string{"sha256": strings.TrimPrefix(digests["a.tgz"], "sha256:")}},
		{"b.tar.gz", map[string]string{"sha256": strings.TrimPrefix(digests["b.tar.gz"], "sha256:")}},
	}
	if diff := cmp.Diff(want, got.Subject); diff != "" {
		t.Errorf("subjects (-want +got):\n%s", diff)
	}
	commit := got.Predicate.BuildDefinition.ResolvedDependencies[0]
	if commit.URI != "git+https://git.example.com/a/muster" || commit.Digest["gitCommit"] != "0f0f" {
		t.Errorf("the source is %+v", commit)
	}
}
