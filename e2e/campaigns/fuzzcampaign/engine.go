package fuzzcampaign

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Outcome is the fate of a target.
type Outcome struct {
	// Execs is how many inputs it was given, and Interesting how many of them reached new code.
	Execs, Interesting int
	// Failure is the message of go test, "" when nothing was found.
	Failure string
}

var progress = regexp.MustCompile(`^fuzz: elapsed: .*execs: (\d+) .*new interesting: (\d+)`)

// outcome reads the output of "go test -fuzz".
func outcome(output string, failed bool) Outcome {
	var o Outcome
	var said []string
	for lines := bufio.NewScanner(strings.NewReader(output)); lines.Scan(); {
		line := lines.Text()
		if found := progress.FindStringSubmatch(line); found != nil {
			o.Execs, _ = strconv.Atoi(found[1])
			o.Interesting, _ = strconv.Atoi(found[2])
		}
		if !strings.HasPrefix(line, "fuzz: ") {
			said = append(said, line)
		}
	}
	if failed && !onlyLate(output) {
		const most = 60 // lines: of all stacks the first ones matter
		o.Failure = strings.Join(said[:min(len(said), most)], "\n")
	}
	return o
}

// onlyLate says that the time was up while the engine made an input shorter, which go test takes for
// a failure (golang.org/issue/75804).
func onlyLate(output string) bool {
	return strings.Contains(output, "context deadline exceeded") && !strings.Contains(output, "Failing input written to") &&
		!strings.Contains(output, "_test.go:")
}

// fuzz has a target look for failing input for so long, beside what it takes to build it.
func fuzz(ctx context.Context, module string, target Target, share time.Duration, parallel int) (Outcome, error) {
	// To make inputs shorter that only reach new code is not worth much of a short time.
	output, err := goTest(ctx, module, target.Dir, nil, "-run", "^$", "-fuzz", "^"+target.Name+"$",
		"-fuzztime", share.String(), "-fuzzminimizetime", "50x", "-parallel", strconv.Itoa(parallel))
	if err != nil && (ctx.Err() != nil || !isExit(err)) {
		return Outcome{}, fmt.Errorf("%s: %w", target, err)
	}
	return outcome(output, err != nil), nil
}

func isExit(err error) bool {
	_, is := errors.AsType[*exec.ExitError](err)
	return is
}

var amplification = regexp.MustCompile(`figure body_amplification=([0-9.]+)`)

// amplified bounds the memory of a call, in multiples of the length of its body. Failure is the
// message of go test when that is too much.
func amplified(ctx context.Context, module string) (times, failure string, err error) {
	output, err := goTest(
		ctx, module, "server", []string{"LARGE_BODIES=1"}, "-count", "1", "-v", "-timeout", "1h", "-run", "^TestNoBodyTakesManyTimesItsSize$",
	)
	if err != nil && (ctx.Err() != nil || !isExit(err)) {
		return "", "", fmt.Errorf("the memory of calls: %w", err)
	}
	if err != nil {
		failure = output
	}
	found := amplification.FindStringSubmatch(output)
	if found == nil {
		return "", "", fmt.Errorf("the memory of calls was not measured:\n%s", output)
	}
	return found[1], failure, nil
}

// goTest runs go test in a directory of a module, and returns all that it says.
func goTest(ctx context.Context, module, dir string, environment []string, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, "go", append([]string{"test", "."}, arguments...)...)
	command.Dir = filepath.Join(module, filepath.FromSlash(dir))
	command.Env = append(os.Environ(), append(environment, "GOWORK=off")...)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 10 * time.Second
	output, err := command.CombinedOutput()
	return string(output), err
}
