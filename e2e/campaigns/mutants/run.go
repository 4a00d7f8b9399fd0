package mutants

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/campaigns/faultcampaign"
)

// Options of a run.
type Options struct {
	// Only are the mutants that are tried: those whose names match.
	Only *regexp.Regexp
	// Seeds is how many runs of the campaign those get that the tests do not notice.
	Seeds int
}

// run is a run under way.
type run struct {
	Options
	*Set

	repository string
	dir        string // for broken files and control planes
	out        io.Writer
}

// Run tries the mutants one after the other, and prints who noticed each. It fails when one survives, or is none.
func (s *Set) Run(ctx context.Context, o Options, out io.Writer) (err error) {
	r := &run{Options: o, Set: s, out: out}
	if r.repository, err = binaries.RepositoryDir(ctx); err != nil {
		return err
	}
	if r.dir, err = os.MkdirTemp("", "muster-mutants-"); err != nil {
		return fmt.Errorf("make a directory: %w", err)
	}
	defer os.RemoveAll(r.dir)
	all := slices.DeleteFunc(slices.Clone(s.Mutants), func(m Mutant) bool { return !o.Only.MatchString(m.Name) })
	if _, err := r.overlays(all); err != nil {
		return err
	}
	for _, tests := range s.Tests {
		if test, err := r.test(ctx, tests); err != nil || test != "" {
			return errors.Join(err, fmt.Errorf("nothing is broken yet, and %q fails", test))
		}
	}
	caught := 0
	var survivors []string
	for i, m := range all {
		started := time.Now()
		by, err := r.notices(ctx, m)
		switch {
		case err != nil:
			return err
		case by == "":
			by = "SURVIVES"
			survivors = append(survivors, m.Name)
		default:
			caught++
		}
		fmt.Fprintf(out, "%2d of %d, %s: %s (%s)\n", i+1, len(all), m.Name, by, time.Since(started).Round(time.Second))
	}
	fmt.Fprintf(out, "figure %s_mutants=%d\nfigure %s_mutants_caught=%d\n", s.Name, len(all), s.Name, caught)
	if len(survivors) > 0 {
		return fmt.Errorf("nobody notices %q", survivors)
	}
	return nil
}

// overlays writes what the go command needs to read the broken files: the arguments, by mutant.
func (r *run) overlays(all []Mutant) (map[string]string, error) {
	flags := map[string]string{}
	var failed error
	for i, m := range all {
		text, err := r.Apply(r.repository, m)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		overlay := filepath.Join(r.dir, fmt.Sprintf("%d.json", i))
		if err := binaries.WriteOverlay(overlay, r.Path(r.repository, m), text); err != nil {
			return nil, fmt.Errorf("write mutant %q: %w", m.Name, err)
		}
		flags[m.Name] = "-overlay=" + overlay
	}
	return flags, failed
}

// notices is who notices a mutant first, "" when nobody does.
func (r *run) notices(ctx context.Context, m Mutant) (by string, err error) {
	flags, err := r.overlays([]Mutant{m})
	if err != nil {
		return "", err
	}
	overlay := flags[m.Name]
	own := Tests{Packages: "./" + path.Join(r.Dir, path.Dir(m.File)), Env: r.Tests[0].Env}
	for _, tests := range append([]Tests{own}, r.Tests...) {
		if by, err = r.test(ctx, tests, overlay); by != "" || err != nil {
			return by, err
		}
	}
	if r.Seeds == 0 {
		return "", nil
	}
	return r.campaign(ctx, r.Campaign(m), overlay)
}

// firstFailure is the line of `go test` that names a test that fails.
var firstFailure = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// test runs tests, with further arguments. It returns the first one that fails, "" for none.
func (r *run) test(ctx context.Context, tests Tests, args ...string) (failed string, err error) {
	args = append([]string{"test", "-failfast", "-vet=off", "-timeout=3m"}, args...)
	output, err := r.goCommand(ctx, tests.Env, append(args, strings.Fields(tests.Packages)...)...)
	switch {
	case err == nil:
		return "", nil
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case strings.Contains(output, "[build failed]") || strings.Contains(output, "[setup failed]"):
		return "", fmt.Errorf("it does not compile, so that it is no mutant:\n%s", output)
	}
	if match := firstFailure.FindStringSubmatch(output); match != nil {
		return match[1], nil
	}
	if strings.Contains(output, "panic: ") {
		return "a panic, or the time of the tests", nil
	}
	return "", fmt.Errorf("go test: %w:\n%s", err, output)
}

// goCommand runs the go command in the main module.
func (r *run) goCommand(ctx context.Context, env []string, args ...string) (output string, err error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = r.repository, append(append(os.Environ(), "GOWORK=off"), env...)
	text, err := cmd.CombinedOutput()
	return string(text), err
}

// campaign runs seeds of a campaign with a broken muster.
func (r *run) campaign(ctx context.Context, c faultcampaign.Campaign, overlay string) (by string, err error) {
	binary := filepath.Join(r.dir, "muster")
	if output, err := r.goCommand(ctx, nil, "build", overlay, "-o", binary, "./cmd/muster"); err != nil {
		return "", fmt.Errorf("build a broken muster: %w:\n%s", err, output)
	}
	dir, err := os.MkdirTemp(r.dir, "campaign-")
	if err != nil {
		return "", fmt.Errorf("make a directory: %w", err)
	}
	defer os.RemoveAll(dir)
	var told strings.Builder
	report, err := c.Perform(ctx, faultcampaign.Options{Seeds: r.Seeds, First: 1, Lanes: min(2, r.Seeds), Muster: binary}, dir, &told)
	if err != nil {
		return "", fmt.Errorf("the campaign with a broken muster: %w:\n%s", err, told.String())
	}
	_, finding, found := strings.Cut(told.String(), "VIOLATION ")
	if report.Err() == nil || !found {
		return "", nil
	}
	finding, _, _ = strings.Cut(finding, "\n")
	return "the campaign: " + finding, nil
}
