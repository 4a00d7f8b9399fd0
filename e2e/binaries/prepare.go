package binaries

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"
)

// Prepared lists what [Prepare] has built.
type Prepared struct {
	Command  string // the path of the command
	Programs bool   // programs of a control plane were missing, and are there now
}

// Prepare has programs of a control plane, muster and a command of this module be there, so that a command which shows all
// of them need not be compiled before it can say what goes on. What they share is compiled once, and all is compiled
// together. The command is the directory of a package in this module; it uses what package shows has.
func Prepare(ctx context.Context, progress io.Writer, command, shows string, which ...Binary) (Prepared, error) {
	release, err := Chosen()
	if err != nil {
		return Prepared{}, err
	}
	r, err := readRecipe(ctx, release, which)
	if err != nil {
		return Prepared{}, err
	}
	if progress == nil {
		progress = io.Discard
	}
	var p Prepared
	if p.Programs, err = r.prepare(ctx, shows, progress); err != nil {
		return p, err
	}
	began := time.Now()
	if _, err := BuildMuster(ctx, progress); err != nil {
		return p, err
	}
	// Of the release that the module is pinned to, whichever the programs are of.
	b := build{module: r.module, packages: []string{command}, title: strings.ReplaceAll(strings.TrimPrefix(command, "./cmd/"), "/", "-")}
	if p.Command, err = buildStable(ctx, filepath.Dir(r.module), b, progress); err != nil {
		return p, err
	}
	fmt.Fprintf(progress, "built muster and what shows it in %s\n", time.Since(began).Round(time.Second))
	return p, nil
}

// prepare builds the missing programs, and compiles beside them what muster and a package consist of. It says whether there
// were any.
func (r recipe) prepare(ctx context.Context, beside string, progress io.Writer) (missed bool, err error) {
	dir, err := r.directory()
	if err != nil {
		return false, err
	}
	set := Set{Dir: dir}
	if missing, err := r.missing(set); err != nil || len(missing) == 0 {
		return false, err
	}
	unlock, err := lock(ctx, filepath.Join(dir, "lock"), progress)
	if err != nil {
		return false, err
	}
	defer unlock()
	if r.modfile != Newest.modfile() { // muster is not compiled of this one
		return true, r.provide(ctx, set, progress)
	}
	imports, err := r.importsOfMuster(ctx, progress)
	if err != nil {
		return false, err
	}
	return true, r.provide(ctx, set, progress, append(imports, beside)...)
}

// importsOfMuster are the packages that muster's command imports, without the standard library's.
func (r recipe) importsOfMuster(ctx context.Context, progress io.Writer) ([]string, error) {
	b := build{module: r.module, modfile: r.modfile, packages: []string{"muster.dev/muster/cmd/muster"}}
	listed, err := b.list(ctx, progress, "-f", `{{join .Imports "\n"}}`)
	if err != nil {
		return nil, fmt.Errorf("list what muster is built from: %w", err)
	}
	var imports []string
	for pkg := range strings.FieldsSeq(listed) {
		if first, _, _ := strings.Cut(pkg, "/"); strings.Contains(first, ".") {
			imports = append(imports, pkg)
		}
	}
	return imports, nil
}
