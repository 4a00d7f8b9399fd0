package chart

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"muster.dev/muster/e2e/lab"
)

// build is the command of the Dockerfile, without the platform, which is this one.
var build = regexp.MustCompile(
	`(?m)^RUN CGO_ENABLED=0 GOOS=\$TARGETOS GOARCH=\$TARGETARCH go (build .*) -ldflags='(.*)' -o /muster (\./cmd/muster)$`,
)

func TestTheImagesBinaryIsTheSameWhereverItIsBuilt(t *testing.T) {
	lab.Long(t)
	t.Parallel()
	command := build.FindStringSubmatch(textOf(t, repository, "Dockerfile"))
	if command == nil {
		t.Fatal("the Dockerfile has no build command that this test knows")
	}
	var binaries [][]byte
	for _, name := range []string{"here", "elsewhere"} {
		dir := filepath.Join(t.TempDir(), name)
		if _, err := said(t.Context(), "git", "clone", "--quiet", repository, dir); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(t.TempDir(), "muster")
		args := append(strings.Fields(command[1]), "-ldflags="+command[2], "-o", out, command[3])
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=")
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		binary, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		binaries = append(binaries, binary)
	}
	if !bytes.Equal(binaries[0], binaries[1]) {
		t.Error("two places give two binaries")
	}
}
