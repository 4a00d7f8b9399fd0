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
	if progress == nil {
		progress = io.Discard
	}
	dir := filepath.Join(repository, "build", "e2e")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make a place for muster: %w", err)
	}
	unlock, err := lock(ctx, filepath.Join(dir, "lock"), progress)
	if err != nil {
		return "", err
	}
	defer unlock()
	// The go command renames what it has linked, if that is on the file system of where it goes: nobody sees half a file.
	b := build{module: repository, pkg: "./cmd/muster", title: "muster", output: Set{Dir: dir}.Path("muster"), temporary: dir}
	return b.output, b.inPlace(ctx, progress)
}

// BuildEmptyExtender builds the extender that others are measured against into dir.
func BuildEmptyExtender(ctx context.Context, dir string, progress io.Writer) (string, error) {
	module, err := moduleDir(ctx)
	if err != nil {
		return "", err
	}
	return buildOwn(ctx, build{module: module}, "emptyextender", dir, progress)
}

// buildOwn does a build of a command of ours.
func buildOwn(ctx context.Context, b build, command, dir string, progress io.Writer) (string, error) {
	if progress == nil {
		progress = io.Discard
	}
	b.pkg, b.output, b.title = "./cmd/"+command, Set{Dir: dir}.Path(Binary(command)), command
	if err := b.run(ctx, progress); err != nil {
		return "", err
	}
	return b.output, nil
}
