// Package binaries builds the real programs of a Kubernetes control plane and keeps
// them for the next run.
//
// What is built, and from which versions, is pinned by this module's go.mod and
// go.sum, so nothing but Go and a module proxy is needed. The first build takes
// minutes; later ones find the binaries in a directory named after everything that
// goes into them. Several processes may ask at once: one builds, the others wait.
//
//	set, err := binaries.Ensure(ctx, os.Stderr)
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

// packages lists what is built, in this order, from which main package.
var packages = []struct {
	binary Binary
	path   string
}{
	{Etcd, "go.etcd.io/etcd/server/v3"},
	{APIServer, "k8s.io/kubernetes/cmd/kube-apiserver"},
	{ControllerManager, "k8s.io/kubernetes/cmd/kube-controller-manager"},
	{Scheduler, "k8s.io/kubernetes/cmd/kube-scheduler"},
	{KWOK, "sigs.k8s.io/kwok/cmd/kwok"},
	{Kubectl, "k8s.io/kubernetes/cmd/kubectl"},
}

// Set is a directory that holds every Binary.
type Set struct{ Dir string }

// Path is the executable of b.
func (s Set) Path(b Binary) string { return filepath.Join(s.Dir, b.file()) }

func (b Binary) file() string {
	if runtime.GOOS == "windows" {
		return string(b) + ".exe"
	}
	return string(b)
}

// Ensure returns the binaries and builds those that are missing. It must be called
// from within this module's directory tree, as tests and `go run` are. Progress is
// told to progress, which may be nil; a run that builds nothing tells nothing.
func Ensure(ctx context.Context, progress io.Writer) (Set, error) {
	if progress == nil {
		progress = io.Discard
	}
	recipe, err := readRecipe(ctx)
	if err != nil {
		return Set{}, err
	}
	dir, err := recipe.directory()
	if err != nil {
		return Set{}, err
	}
	set := Set{Dir: dir}
	if missing, err := set.missing(); err != nil || len(missing) == 0 {
		return set, err
	}
	unlock, err := lock(ctx, filepath.Join(dir, "lock"), progress)
	if err != nil {
		return Set{}, err
	}
	defer unlock()
	return set, recipe.buildMissing(ctx, set, progress)
}

// buildMissing asks again what is missing: another process may have built it while
// this one waited for the lock.
func (r recipe) buildMissing(ctx context.Context, set Set, progress io.Writer) error {
	missing, err := set.missing()
	if err != nil || len(missing) == 0 {
		return err
	}
	fmt.Fprintf(progress, "building %d programs into %s (once; several minutes on a fresh machine)\n", len(missing), set.Dir)
	began := time.Now()
	for i, p := range packages {
		if !missing[p.binary] {
			continue
		}
		b := build{
			pkg:     p.path,
			output:  set.Path(p.binary),
			ldflags: r.ldflags,
			module:  r.module,
			title:   fmt.Sprintf("%d/%d %s", i+1, len(packages), p.binary),
		}
		if err := b.run(ctx, progress); err != nil {
			return err
		}
	}
	fmt.Fprintf(progress, "built in %s\n", time.Since(began).Round(time.Second))
	return nil
}

func (s Set) missing() (map[Binary]bool, error) {
	missing := map[Binary]bool{}
	for _, p := range packages {
		_, err := os.Stat(s.Path(p.binary))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing[p.binary] = true
		case err != nil:
			return nil, fmt.Errorf("look for %s: %w", p.binary, err)
		}
	}
	return missing, nil
}
