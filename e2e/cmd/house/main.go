// Command house prints how the main module is built: see package house. What is beyond a bound is
// named.
package main

import (
	"context"
	"flag"
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
	update := flag.Bool("update", false, "rewrite the table of packages from their comments, and measure nothing")
	flag.Parse()
	root, err := binaries.RepositoryDir(context.Background())
	if err != nil {
		return err
	}
	if *update {
		return house.Update(root)
	}
	report, err := house.Measure(root)
	if err != nil {
		return err
	}
	report.Print(os.Stdout)
	return nil
}
