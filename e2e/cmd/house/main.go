// Command house prints how the main module is built, and how many listed words the prose of all modules has: see
// package house. It names what is beyond a bound.
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
	words := flag.Bool("words", false, "print where listed words stand, and no figures")
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "Usage of house:\n\n%s\n%s\n", house.ShapeRule, house.WordsRule)
		flag.PrintDefaults()
	}
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
	if *words {
		report.PrintWords(os.Stdout)
		return nil
	}
	report.Print(os.Stdout)
	return nil
}
