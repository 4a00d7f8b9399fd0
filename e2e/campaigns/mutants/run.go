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
	// Long has the long tier look at mutants that the short tier does not notice.
	Long bool
	// Seeds is how many runs of a campaign those get that no test notices, in the long tier.
	Seeds int
}

// run is a run under way.
type run struct {
	Options
	*Capability

	repository string
	dir        string // for broken files and control planes
}

// Run tries the mutants one after the other, and prints who noticed each. It fails when one survives, or is none.
func (c *Capability) Run(ctx context.Context, o Options, out io.Writer) (err error) {
	r := &run{Options: o, Capability: c}
	if r.repository, err = binaries.RepositoryDir(ctx); err != nil {
		return err
	}
	if r.dir, err = os.MkdirTemp("", "muster-mutants-"); err != nil {
		return fmt.Errorf("make a directory: %w", err)
	}
	defer os.RemoveAll(r.dir)
	all := slices.DeleteFunc(slices.Clone(c.Mutants), func(m Mutant) bool { return !o.Only.MatchString(m.Name) })
	var moved []error
	for i := range all {
		_, err := r.overlay(&all[i])
		moved = append(moved, err)
	}
	if err := errors.Join(moved...); err != nil {
		return err
	}
	for _, tests := range c.Short {
		if test, err := r.test(ctx, tests, "-short"); err != nil || test != "" {
			return errors.Join(err, fmt.Errorf("nothing is broken yet, and %q fails", test))
		}
	}
	var survivors []string
	for i := range all {
		m, started := &all[i], time.Now()
		by, err := r.notices(ctx, m)
		if err != nil {
			return err
		}
		if by == "" {
			by = "SURVIVES"
			survivors = append(survivors, m.Name)
		}
		fmt.Fprintf(out, "%2d of %d, %s: %s (%s)\n", i+1, len(all), m.Name, by, time.Since(started).Round(time.Second))
	}
	for _, name := range survivors {
		fmt.Fprintf(out, "survives: %s\n", name)
	}
	fmt.Fprintf(out, "figure mutants_%s=%d\nfigure mutants_caught_%s=%d\n", c.Name, len(all), c.Name, len(all)-len(survivors))
	if len(survivors) > 0 {
		return fmt.Errorf("nobody notices %q", survivors)
	}
	return nil
}

// overlay writes what the go command needs to read the broken file, and returns its argument.
func (r *run) overlay(m *Mutant) (argument string, err error) {
	text, err := m.Apply(r.repository)
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(r.dir, "overlay.json")
	if err := binaries.WriteOverlay(overlay, m.path(r.repository), text); err != nil {
		return "", fmt.Errorf("write mutant %q: %w", m.Name, err)
	}
	return "-overlay=" + overlay, nil
}

// notices is who notices a mutant first, "" when nobody does.
func (r *run) notices(ctx context.Context, m *Mutant) (by string, err error) {
	overlay, err := r.overlay(m)
	if err != nil {
		return "", err
	}
	short := append([]Tests{{Packages: "./" + path.Dir(m.File), Env: r.Short[0].Env}}, r.Short...)
	if m.Tests != "" {
		short = []Tests{{Packages: m.Tests}}
	}
	for _, tests := range short {
		if by, err = r.test(ctx, tests, "-short", overlay); by != "" || err != nil {
			return by, err
		}
	}
	if !r.Options.Long {
		return "", nil
	}
	for _, tests := range r.Capability.Long {
		if by, err = r.test(ctx, tests, overlay); by != "" || err != nil {
			return by, err
		}
	}
	if found := r.Campaigns[m.Campaign]; found != nil && r.Seeds > 0 {
		return r.campaign(ctx, found(), overlay)
	}
	return "", nil
}

// firstFailure is the line of `go test` that names a test that fails.
var firstFailure = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// test runs tests, with further arguments. It returns the first one that fails, "" for none.
func (r *run) test(ctx context.Context, tests Tests, args ...string) (failed string, err error) {
	args = append([]string{"test", "-failfast", "-vet=off", "-timeout=10m"}, args...)
	output, err := r.goCommand(ctx, tests.Dir, tests.Env, append(args, strings.Fields(tests.Packages)...)...)
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

// goCommand runs the go command in a module.
func (r *run) goCommand(ctx context.Context, module string, env []string, args ...string) (output string, err error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = filepath.Join(r.repository, module), append(append(os.Environ(), "GOWORK=off"), env...)
	text, err := cmd.CombinedOutput()
	return string(text), err
}

// campaign runs seeds of a campaign with a broken muster.
func (r *run) campaign(ctx context.Context, c faultcampaign.Campaign, overlay string) (by string, err error) {
	binary := filepath.Join(r.dir, "muster")
	if output, err := r.goCommand(ctx, "", nil, "build", overlay, "-o", binary, "./cmd/muster"); err != nil {
		return "", fmt.Errorf("build a broken muster: %w:\n%s", err, output)
	}
	dir, err := os.MkdirTemp(r.dir, "campaign-")
	if err != nil {
		return "", fmt.Errorf("make a directory: %w", err)
	}
	defer os.RemoveAll(dir)
	var told strings.Builder
	o := faultcampaign.Options{Seeds: r.Seeds, First: 1, Lanes: min(2, r.Seeds), Muster: binary}
	report, err := c.Perform(ctx, o, dir, &told)
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
