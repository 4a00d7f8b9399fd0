//go:build unix

package walkthrough

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"muster.dev/muster/e2e/await"
	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/playground"
	"muster.dev/muster/e2e/process"
)

func TestTheReaderOfGettingStartedSeesWhatItShows(t *testing.T) {
	lab.Long(t)
	for _, program := range []string{"bash", "curl", "make"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("the page needs %s: %v", program, err)
		}
	}
	repository, err := binaries.RepositoryDir(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(repository, "docs", "getting-started.md"))
	if err != nil {
		t.Fatal(err)
	}
	// All that the page compiles is compiled here, so that what is waited for below takes moments.
	for dir, command := range map[string]string{repository: "./cmd/muster", filepath.Join(repository, "e2e"): "./cmd/controlplane"} {
		compile := exec.CommandContext(t.Context(), "go", "build", "-o", os.DevNull, command)
		compile.Dir = dir
		if out, err := compile.CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v: %s", command, err, out)
		}
	}
	programs := []binaries.Binary{
		binaries.Etcd, binaries.APIServer, binaries.ControllerManager, binaries.Scheduler, binaries.KWOK, binaries.Kubectl,
	}
	if _, err := binaries.Ensure(t.Context(), "", t.Output(), programs...); err != nil {
		t.Fatal(err)
	}
	// The reader's directory and ports may be in use.
	dir := t.TempDir()
	blocks, err := Parse(strings.NewReplacer(
		"build/controlplane", dir, "127.0.0.1:8888", freeAddress(t), "127.0.0.1:8889", freeAddress(t), "127.0.0.1:8887", freeAddress(t),
	).Replace(string(page)))
	if err != nil {
		t.Fatal(err)
	}
	r := reader{T: t, dir: repository, env: playground.DirVariable + "=" + dir}
	r.shell = newShell(t, r.dir, r.env)
	for _, block := range blocks {
		r.follow(block)
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	port, err := process.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", port)
}

// reader follows a page.
type reader struct {
	*testing.T
	dir, env   string
	shell      *shell
	background *background
	read       int // how much of what the background has said was looked at
}

// follow runs a block, and ends the test when it prints something else than is shown.
func (r *reader) follow(b Block) {
	r.Helper()
	r.Logf("line %d: %s", b.Line, b.Script)
	switch {
	case b.Background && b.Script != "":
		r.background, r.read = newBackground(r.T, r.dir, b.Script, r.env), 0
	case b.Background:
		said := r.eventually(b, func() string { return r.background.said(r.read) })
		r.read += len(said)
	case b.Again:
		r.eventually(b, func() string { return r.run(b) })
	default:
		if got := r.run(b); !Matches(b.Want, got) {
			r.lie(b, got)
		}
	}
}

func (r *reader) run(b Block) string {
	r.Helper()
	got, err := r.shell.run(b.Script)
	if err != nil {
		r.Fatalf("line %d: %v; before that it printed:\n%s", b.Line, err, got)
	}
	return got
}

// eventually looks until the output is as the block shows, and returns it.
func (r *reader) eventually(b Block, look func() string) (got string) {
	r.Helper()
	err := await.Until(r.Context(), "it is printed", func(context.Context) error {
		if got = look(); !Matches(b.Want, got) {
			return errors.New("it is not")
		}
		return nil
	})
	if err != nil {
		r.lie(b, got)
	}
	return got
}

func (r *reader) lie(b Block, got string) {
	r.Helper()
	r.Fatalf("docs/getting-started.md, line %d: the page shows\n%s\nand this was printed:\n%s", b.Line, b.Want, got)
}
