//go:build unix

package walkthrough

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// shell is a bash that scripts are run in, one after the other. The jobs that they leave behind end
// with it, and it ends with the test, however that ends.
type shell struct {
	stdin  io.Writer
	output *bufio.Reader
	file   string
}

// done is the line that the shell prints after each script.
const done = "-- the script has ended --"

func newShell(t *testing.T, dir string, env ...string) *shell {
	t.Helper()
	cmd := exec.Command("bash", "-s")
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	stdin := start(t, cmd, dir, env)
	if _, err := fmt.Fprintln(stdin, `trap 'kill $(jobs -p) 2> /dev/null; wait' EXIT`); err != nil {
		t.Fatal(err)
	}
	return &shell{stdin: stdin, output: bufio.NewReader(output), file: filepath.Join(t.TempDir(), "script")}
}

// run returns what a script prints.
func (s *shell) run(script string) (string, error) {
	if err := os.WriteFile(s.file, []byte(script+"\n"), 0o600); err != nil {
		return "", err
	}
	if _, err := fmt.Fprintf(s.stdin, ". '%s' < /dev/null; printf '\\n%%s\\n' '%s'\n", s.file, done); err != nil {
		return "", err
	}
	var printed strings.Builder
	for {
		line, err := s.output.ReadString('\n')
		if err != nil {
			return printed.String(), fmt.Errorf("the shell has ended: %w", err)
		}
		if line == done+"\n" {
			return printed.String(), nil
		}
		printed.WriteString(line)
	}
}

// background is a script that runs in a bash of its own until the test ends.
type background struct {
	mu     sync.Mutex
	output strings.Builder
}

func newBackground(t *testing.T, dir, script string, env ...string) *background {
	t.Helper()
	b := &background{}
	// When standard input ends, so does all that the script has started.
	cmd := exec.Command("bash", "-c", script+" &\ncat > /dev/null\nkill -TERM -- -$$")
	cmd.Stdout, cmd.Stderr = b, b
	start(t, cmd, dir, env)
	return b
}

func (b *background) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.output.Write(p)
}

// said returns the output from a position on.
func (b *background) said(from int) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.output.String()[from:]
}

// start starts a command in a process group of its own. When the test ends, its standard input does,
// and the test waits for it.
func start(t *testing.T, cmd *exec.Cmd, dir string, env []string) io.Writer {
	t.Helper()
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait() // a signal ends it
	})
	return stdin
}
