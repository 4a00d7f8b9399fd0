// Command docsite makes a site of the documentation in build/site and checks its links: see package docsite.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/docsite"
	"muster.dev/muster/e2e/release"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	branch := flag.String("branch", "main", "the branch of the source that links to files lead to")
	flag.Parse()
	repository, err := binaries.RepositoryDir(ctx)
	if err != nil {
		return err
	}
	owner, err := release.ReadOwner(filepath.Join(repository, ".ci", "owner.yaml"))
	if err != nil {
		return err
	}
	out := filepath.Join(repository, "build", "site")
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	site := docsite.Site{Repository: os.DirFS(repository), Source: "https://" + owner.Source, Branch: *branch}
	if err := site.Build(out); err != nil {
		return err
	}
	if err := errors.Join(docsite.Check(os.DirFS(out))...); err != nil {
		return err
	}
	fmt.Println(filepath.Join(out, "index.html"))
	return nil
}
