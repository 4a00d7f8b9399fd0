package binaries

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// RepositoryDir is the root of the checkout that this module is a part of.
func RepositoryDir(ctx context.Context) (string, error) {
	module, err := moduleDir(ctx)
	if err != nil {
		return "", err
	}
	return filepath.Dir(module), nil
}

// BuildMuster builds the muster of this checkout, always at the same path of it, and returns that. Unlike the other programs
// it changes all the time: Go's build cache decides what to do, and links nothing when the file is up to date. A process
// that runs goes on with the file that it was started from; one that is started later runs what was built last.
func BuildMuster(ctx context.Context, progress io.Writer) (string, error) {
	repository, err := RepositoryDir(ctx)
	if err != nil {
		return "", err
	}
	return buildStable(ctx, repository, build{module: repository, packages: []string{"./cmd/muster"}, title: "muster"}, progress)
}

// buildStable builds a command of ours at its path in a checkout, one process at a time. The go command renames what it has
// linked when it works on the same file system: a process that starts the file finds the old one or the new one, whole.
func buildStable(ctx context.Context, repository string, b build, progress io.Writer) (string, error) {
	if progress == nil {
		progress = io.Discard
	}
	dir := filepath.Join(repository, "build", "e2e")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make a place for %s: %w", b.title, err)
	}
	unlock, err := lock(ctx, filepath.Join(dir, "lock"), progress)
	if err != nil {
		return "", err
	}
	defer unlock()
	b.temporary, b.output = dir, Set{Dir: dir}.Path(Binary(b.title))
	return b.output, b.inPlace(ctx, &compiling{title: b.title, out: progress})
}

// BuildCommand builds a command of the module in a directory below this one ("bench") into dir.
func BuildCommand(ctx context.Context, nested, command, dir string, progress io.Writer) (string, error) {
	module, err := moduleDir(ctx)
	if err != nil {
		return "", err
	}
	return buildOwn(ctx, build{module: filepath.Join(module, nested)}, command, dir, progress)
}

// buildOwn does a build of a command of ours.
func buildOwn(ctx context.Context, b build, command, dir string, progress io.Writer) (string, error) {
	if progress == nil {
		progress = io.Discard
	}
	b.packages, b.output, b.title = []string{"./cmd/" + command}, Set{Dir: dir}.Path(Binary(command)), command
	if err := b.run(ctx, progress); err != nil {
		return "", err
	}
	return b.output, nil
}
