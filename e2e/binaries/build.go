package binaries

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

// build is one `go build`, of one package or of several.
type build struct {
	title    string
	packages []string
	output   string // a file, or a directory with a slash at its end; "" when packages are compiled only
	ldflags  string
	tags     string
	module   string
	modfile  string // of the module, "" for go.mod
	overlay  string // of the go command, "" for none

	temporary string // where the go command works, "" for where it does by default
}

// compilerMemory lets compilers use more memory for less time, a quarter of it: what a garbage collector is told that
// runs in a process of seconds. It is no flag of the compiler, and what is compiled is the same.
var compilerMemory = []string{"GOGC=400", "GOMEMLIMIT=2GiB"}

// run builds to a temporary name and renames it, so that an interrupted build leaves
// nothing that looks like a finished one.
func (b build) run(ctx context.Context, progress io.Writer) error {
	partial := b
	partial.output = fmt.Sprintf("%s.%d.partial", b.output, os.Getpid())
	defer os.Remove(partial.output)
	if err := partial.inPlace(ctx, &compiling{title: b.title, out: progress}); err != nil {
		return err
	}
	if err := os.Rename(partial.output, b.output); err != nil {
		return fmt.Errorf("build %s: %w", b.title, err)
	}
	return nil
}

// inPlace has the go command write the output, which it does not when that is up to date.
func (b build) inPlace(ctx context.Context, told *compiling) error {
	args := append(b.flags("build"), "-v", "-ldflags", b.ldflags)
	if b.output != "" {
		args = append(args, "-o", b.output)
	}
	env := os.Environ()
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		env = append(env, compilerMemory...)
	}
	if b.temporary != "" {
		env = append(env, "GOTMPDIR="+b.temporary)
	}
	defer told.begin()()
	if _, err := b.command(ctx, env, append(args, b.packages...), told.line); err != nil {
		return fmt.Errorf("build %s: %w", b.title, err)
	}
	return nil
}

// flags of a go command that decide what is compiled. They equal the flags of `go run` and of a plain `go build`, so
// that packages which programs share are compiled once.
func (b build) flags(command string) []string {
	return []string{command, "-tags", b.tags, "-overlay", b.overlay, "-modfile", b.modfile}
}

// command runs a go command, which tells line by line on standard error what it does, and returns what it prints.
func (b build) command(ctx context.Context, env, args []string, tell func(line string)) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = b.module, env
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	var stdout strings.Builder
	cmd.Stdout = &stdout
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	last := eachLine(stderr, tell)
	if err := cmd.Wait(); err != nil {
		return "", fmt.Errorf("%w:\n%s", errors.Join(err, context.Cause(ctx)), strings.Join(last, "\n"))
	}
	return stdout.String(), nil
}

// eachLine tells each line, and keeps the last ones for an error message.
func eachLine(from io.Reader, tell func(string)) []string {
	const keep = 30
	var last []string
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		tell(lines.Text())
		last = append(last, lines.Text())
		last = last[max(0, len(last)-keep):]
	}
	_, _ = io.Copy(io.Discard, from)
	return last
}

// fetches is how many modules are fetched at a time. By itself the go command fetches one module for each core that it
// may use, which does not keep a network busy.
const fetches = 16

// fetch fetches the modules that are missing, and returns the packages that are not compiled yet, with the bytes of their
// sources.
func (b build) fetch(ctx context.Context, progress io.Writer) (stale map[string]int64, err error) {
	const format = "{{if .Stale}}{{.ImportPath}}\t{{.Dir}}{{range .GoFiles}}\t{{.}}{{end}}{{end}}"
	listed, err := b.list(ctx, progress, "-deps", "-f", format)
	if err != nil {
		return nil, fmt.Errorf("fetch what %s is built from: %w", b.title, err)
	}
	stale = map[string]int64{}
	for line := range strings.Lines(listed) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) < 2 {
			continue
		}
		for _, name := range fields[2:] {
			if about, err := os.Stat(filepath.Join(fields[1], name)); err == nil {
				stale[fields[0]] += about.Size()
			}
		}
	}
	return stale, nil
}

// list returns what the go command lists of the packages, whose modules it fetches first.
func (b build) list(ctx context.Context, progress io.Writer, flags ...string) (string, error) {
	env := append(os.Environ(), fmt.Sprintf("GOMAXPROCS=%d", max(fetches, runtime.GOMAXPROCS(0))))
	told := fetching{out: progress}
	defer told.begin()()
	return b.command(ctx, env, slices.Concat(b.flags("list"), flags, b.packages), told.line)
}

var majorVersion = regexp.MustCompile(`^v[0-9]+$`)

// builtAs returns the go command's name for the executable of a package.
func builtAs(pkg string) string {
	name := path.Base(pkg)
	if majorVersion.MatchString(name) {
		name = path.Base(path.Dir(pkg))
	}
	return Binary(name).file()
}
