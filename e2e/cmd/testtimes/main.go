// Command testtimes prints how long packages and tests took, from files that go test -json or gotestsum wrote, and
// fails when a package took much longer than it should: see package testtimes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"muster.dev/muster/e2e/testtimes"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "testtimes:", err)
		os.Exit(1)
	}
}

func run() error {
	most := flag.Int("top", 10, "how many packages and tests to print")
	path := flag.String("budget", "", "`FILE` with the seconds that packages should take, each with its package")
	write := flag.Bool("write", false, "write that file from the run, instead of holding the run to it")
	flag.Parse()
	times, err := read(flag.Args())
	if err != nil {
		return err
	}
	times.Print(os.Stdout, *most)
	if *path == "" {
		return nil
	}
	budget, err := readBudget(*path, *write)
	if err != nil {
		return err
	}
	if *write {
		var text strings.Builder
		if err := budget.Write(&text, times); err != nil {
			return err
		}
		if err := os.WriteFile(*path, []byte(text.String()), 0o644); err != nil {
			return fmt.Errorf("write the budget: %w", err)
		}
		return nil
	}
	if over := budget.Over(times); len(over) > 0 {
		return fmt.Errorf("too slow by %s:\n  %s", *path, strings.Join(over, "\n  "))
	}
	return nil
}

// read reads the files of a run, or standard input if there are none.
func read(paths []string) (*testtimes.Times, error) {
	files := []io.Reader{os.Stdin}
	if len(paths) > 0 {
		files = nil
	}
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("read the events of a run: %w", err)
		}
		defer file.Close()
		files = append(files, file)
	}
	return testtimes.Read(files...)
}

// readBudget reads a budget, which need not be there yet if it is to be written.
func readBudget(path string, written bool) (testtimes.Budget, error) {
	file, err := os.Open(path)
	if written && errors.Is(err, fs.ErrNotExist) {
		return testtimes.Budget{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the budget: %w", err)
	}
	defer file.Close()
	return testtimes.ReadBudget(file)
}
