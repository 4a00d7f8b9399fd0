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
	if progress == nil {
		progress = io.Discard
	}
	muster := Binary("muster")
	b := build{pkg: "./cmd/muster", output: Set{Dir: dir}.Path(muster), module: repository, title: "muster"}
	if err := b.run(ctx, progress); err != nil {
		return "", err
	}
	return b.output, nil
}
