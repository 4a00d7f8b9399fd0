// Package binaries builds the real programs of a Kubernetes control plane and keeps
// them for the next run.
//
// What is built, and from which versions, is pinned by this module's go.mod and go.sum, and by go.1.36.mod for
// another release of Kubernetes, so nothing but Go and a module proxy is needed. The first build takes
// minutes; later ones find the binaries in a directory named after everything that
// goes into them. Several processes may ask at once: one builds, the others wait. [DownloadEnv] has released
// programs be downloaded instead.
//
//	set, err := binaries.Ensure(ctx, binaries.Newest, os.Stderr, binaries.Etcd)
//	exec.Command(set.Path(binaries.Etcd), "--version")
package binaries

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// DirEnv names the environment variable that, when set, holds the directory for the
// binaries instead of one in the user's cache. Binaries found there are used as they are.
const DirEnv = "MUSTER_E2E_BIN"

// Binary is one of the programs that Ensure provides.
type Binary string

// The programs of a control plane.
const (
	Etcd              Binary = "etcd"
	APIServer         Binary = "kube-apiserver"
	ControllerManager Binary = "kube-controller-manager"
	Scheduler         Binary = "kube-scheduler"
	KWOK              Binary = "kwok"
	Kubectl           Binary = "kubectl"
)

// Programs that only some tests need. What goes into them is pinned by modules of their own, in
// recipes, so that they are built, once, only where they are asked for by [EnsureExtra].
const (
	MetricsServer Binary = "metrics-server"
	Prometheus    Binary = "prometheus"
	Promtool      Binary = "promtool"
	Helm          Binary = "helm"
	// Controllers of others.
	JobSet          Binary = "jobset"
	LeaderWorkerSet Binary = "leaderworkerset"
	Kueue           Binary = "kueue"
)

// program is built from a main package.
type program struct {
	binary Binary
	path   string
}

// packages lists the programs of a control plane.
var packages = []program{
	{binary: Etcd, path: "go.etcd.io/etcd/server/v3"},
	{binary: APIServer, path: "k8s.io/kubernetes/cmd/kube-apiserver"},
	{binary: ControllerManager, path: "k8s.io/kubernetes/cmd/kube-controller-manager"},
	{binary: Scheduler, path: "k8s.io/kubernetes/cmd/kube-scheduler"},
	{binary: KWOK, path: "sigs.k8s.io/kwok/cmd/kwok"},
	{binary: Kubectl, path: "k8s.io/kubernetes/cmd/kubectl"},
}

// extras lists the programs beside them, each alone in its recipe, a directory of recipes.
var extras = map[Binary]struct {
	recipe, path, tags string
	// source is the module whose files are of use as well, "" for none.
	source string
}{
	MetricsServer: {recipe: "metricsserver", path: "sigs.k8s.io/metrics-server/cmd/metrics-server"},
	// Without service discovery, which is most of Prometheus.
	Prometheus:      {recipe: "prometheus", path: "github.com/prometheus/prometheus/cmd/prometheus", tags: "remove_all_sd,netgo"},
	Promtool:        {recipe: "promtool", path: "github.com/prometheus/prometheus/cmd/promtool", tags: "remove_all_sd,netgo"},
	Helm:            {recipe: "helm", path: "helm.sh/helm/v4/cmd/helm"},
	JobSet:          {recipe: "jobset", path: "sigs.k8s.io/jobset", source: "sigs.k8s.io/jobset"},
	LeaderWorkerSet: {recipe: "leaderworkerset", path: "sigs.k8s.io/lws/cmd", source: "sigs.k8s.io/lws"},
	Kueue:           {recipe: "kueue", path: "sigs.k8s.io/kueue/cmd/kueue", source: "sigs.k8s.io/kueue"},
}

// Set is a directory of binaries.
type Set struct{ Dir string }

// Path is the executable of b.
func (s Set) Path(b Binary) string { return filepath.Join(s.Dir, b.file()) }

func (b Binary) file() string {
	if runtime.GOOS == "windows" {
		return string(b) + ".exe"
	}
	return string(b)
}

// Ensure returns a set with those binaries of a release, the one that the environment asks for when it is empty, and builds
// what is missing of them. It must be called from within this module's directory tree, as tests and `go run` are. Progress
// is told to progress, which may be nil; a run that builds nothing tells nothing.
func Ensure(ctx context.Context, release Release, progress io.Writer, which ...Binary) (Set, error) {
	if progress == nil {
		progress = io.Discard
	}
	if release == "" {
		var err error
		if release, err = Chosen(); err != nil {
			return Set{}, err
		}
	}
	recipe, err := readRecipe(ctx, release, which)
	if err != nil {
		return Set{}, err
	}
	return recipe.ensure(ctx, progress)
}

// EnsureExtra is Ensure for a program beside the programs of a control plane, and returns the path
// of its executable.
func EnsureExtra(ctx context.Context, b Binary, progress io.Writer) (string, error) {
	if progress == nil {
		progress = io.Discard
	}
	extra, known := extras[b]
	if !known {
		return "", fmt.Errorf("there is no recipe for %s", b)
	}
	recipe, err := readExtraRecipe(ctx, extra.recipe, extra.tags, program{binary: b, path: extra.path})
	if err != nil {
		return "", err
	}
	set, err := recipe.ensure(ctx, progress)
	return set.Path(b), err
}

// Source returns the directory of the module that an extra program is built from.
func Source(ctx context.Context, b Binary) (string, error) {
	extra := extras[b]
	if extra.source == "" {
		return "", fmt.Errorf("nothing is known of the source of %s", b)
	}
	module, err := moduleDir(ctx)
	if err != nil {
		return "", err
	}
	return goList(ctx, filepath.Join(module, "binaries", "recipes", extra.recipe), "{{.Dir}}", extra.source)
}

func (r recipe) ensure(ctx context.Context, progress io.Writer) (Set, error) {
	dir, err := r.directory()
	if err != nil {
		return Set{}, err
	}
	set := Set{Dir: dir}
	if missing, err := r.missing(set); err != nil || len(missing) == 0 {
		return set, err
	}
	unlock, err := lock(ctx, filepath.Join(dir, "lock"), progress)
	if err != nil {
		return Set{}, err
	}
	defer unlock()
	return set, r.provide(ctx, set, progress)
}

// provide downloads or builds what is missing, which it asks again: another process may have built it while
// this one waited for the lock. The packages are compiled beside what is built.
func (r recipe) provide(ctx context.Context, set Set, progress io.Writer, beside ...string) error {
	missing, err := r.missing(set)
	if err != nil {
		return err
	}
	if where := os.Getenv(DownloadEnv); where != "" && r.kubernetes != "" && len(missing) > 0 {
		if missing, err = r.download(ctx, where, set, missing, progress); err != nil {
			return err
		}
	}
	if len(missing) == 0 && len(beside) == 0 {
		return nil
	}
	return r.build(ctx, set, missing, beside, progress)
}

// build builds programs at once, so that all cores are busy until the last is linked, and compiles packages beside them.
func (r recipe) build(ctx context.Context, set Set, missing []program, beside []string, progress io.Writer) error {
	// Whole files appear in the set, by being renamed.
	partial, err := os.MkdirTemp(set.Dir, "partial-")
	if err != nil {
		return fmt.Errorf("build into %s: %w", set.Dir, err)
	}
	defer os.RemoveAll(partial)
	b := build{title: "packages", ldflags: r.ldflags, tags: r.tags, module: r.module, modfile: r.modfile}
	var names []string
	for _, p := range missing {
		b.packages = append(b.packages, p.path)
		names = append(names, string(p.binary))
	}
	if len(missing) > 0 {
		b.output, b.title = partial+string(filepath.Separator), strings.Join(names, ", ")
		fmt.Fprintf(progress, "building %s into %s (once; several minutes on a fresh machine)\n", b.title, set.Dir)
	}
	b.packages = append(b.packages, beside...)
	began := time.Now()
	stale, err := b.fetch(ctx, progress)
	if err != nil {
		return err
	}
	if err := b.inPlace(ctx, newCompiling(b, stale, progress)); err != nil {
		return err
	}
	for _, p := range missing {
		if err := os.Rename(filepath.Join(partial, builtAs(p.path)), set.Path(p.binary)); err != nil {
			return fmt.Errorf("keep %s: %w", p.binary, err)
		}
	}
	fmt.Fprintf(progress, "built in %s\n", time.Since(began).Round(time.Second))
	return nil
}

func (r recipe) missing(s Set) (missing []program, err error) {
	for _, p := range r.programs {
		_, err := os.Stat(s.Path(p.binary))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, p)
		case err != nil:
			return nil, fmt.Errorf("look for %s: %w", p.binary, err)
		}
	}
	return missing, nil
}
