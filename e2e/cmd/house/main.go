// Command house prints how the main module is built: see package house. What is beyond a bound is
// named.
package main

import (
	"context"
	"fmt"
	"os"

	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/house"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
}

func run() error {
	root, err := binaries.RepositoryDir(context.Background())
	if err != nil {
		return err
	}
	report, err := house.Measure(root)
	if err != nil {
		return err
	}
	report.Print(os.Stdout)
	return nil
}
