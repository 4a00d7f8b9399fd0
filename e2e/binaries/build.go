package binaries

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"
)

// reportEvery is how often a running build tells how far it is.
const reportEvery = 5 * time.Second

// build is one `go build`.
type build struct {
	title   string
	pkg     string
	output  string
	ldflags string
	tags    string
	module  string
	modfile string // of the module, "" for go.mod
	overlay string // of the go command, "" for none

	temporary string // where the go command works, "" for where it does by default
}

// run builds to a temporary name and renames it, so that an interrupted build leaves
// nothing that looks like a finished one.
func (b build) run(ctx context.Context, progress io.Writer) error {
	partial := b
	partial.output = fmt.Sprintf("%s.%d.partial", b.output, os.Getpid())
	defer os.Remove(partial.output)
	if err := partial.inPlace(ctx, progress); err != nil {
		return err
	}
	if err := os.Rename(partial.output, b.output); err != nil {
		return fmt.Errorf("build %s: %w", b.pkg, err)
	}
	return nil
}

// inPlace has the go command write the output, which it does not when that is up to date.
func (b build) inPlace(ctx context.Context, progress io.Writer) error {
	cmd := exec.CommandContext(
		ctx,
		"go",
		"build",
		"-v",
		"-ldflags",
		b.ldflags,
		"-tags",
		b.tags,
		"-overlay",
		b.overlay,
		"-modfile",
		b.modfile,
		"-o",
		b.output,
		b.pkg,
	)
	cmd.Dir = b.module
	if b.temporary != "" {
		cmd.Env = append(os.Environ(), "GOTMPDIR="+b.temporary)
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return fmt.Errorf("build %s: %w", b.pkg, err)
	}
	began := time.Now()
	fmt.Fprintf(progress, "  building %s\n", b.title)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("build %s: %w", b.pkg, err)
	}
	var steps atomic.Int64
	stop := b.report(progress, began, &steps)
	last := followSteps(stderr, &steps)
	err = cmd.Wait()
	stop()
	if err != nil {
		return fmt.Errorf("build %s: %w:\n%s", b.pkg, errors.Join(err, context.Cause(ctx)), strings.Join(last, "\n"))
	}
	return nil
}

// report tells progress until the returned function is called.
func (b build) report(progress io.Writer, began time.Time, steps *atomic.Int64) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(reportEvery)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				fmt.Fprintf(progress, "  %s: %s, %d packages compiled or fetched\n",
					b.title, time.Since(began).Round(time.Second), steps.Load())
			}
		}
	}()
	return func() { close(done); <-ended }
}

// followSteps counts what `go build -v` prints, a line for each package, and keeps the
// last lines for an error message.
func followSteps(stderr io.Reader, steps *atomic.Int64) []string {
	const keep = 30
	var last []string
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		steps.Add(1)
		last = append(last, lines.Text())
		last = last[max(0, len(last)-keep):]
	}
	_, _ = io.Copy(io.Discard, stderr)
	return last
}
