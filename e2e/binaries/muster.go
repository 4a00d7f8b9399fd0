package binaries

import (
	"context"
	"io"
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

// BuildMuster builds the muster of this checkout into dir and returns its path. Unlike
// the other programs it changes all the time: Go's build cache decides what to do.
func BuildMuster(ctx context.Context, dir string, progress io.Writer) (string, error) {
	repository, err := RepositoryDir(ctx)
	if err != nil {
		return "", err
	}
	return buildOwn(ctx, build{module: repository}, "muster", dir, progress)
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
	b.pkg, b.output, b.title = "./cmd/"+command, Set{Dir: dir}.Path(Binary(command)), command
	if err := b.run(ctx, progress); err != nil {
		return "", err
	}
	return b.output, nil
}
