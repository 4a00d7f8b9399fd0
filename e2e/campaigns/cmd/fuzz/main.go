// Command fuzz has every fuzz target of the main module look for input that breaks it; see package
// fuzzcampaign. The exit status is 1 when it finds something.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"syscall"
	"time"

	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/campaigns/fuzzcampaign"
)

const usage = `Usage: fuzz [flags] [PATTERN]

Every input of muster has a fuzz target: a function FuzzXxx in a file _test.go that reads
what is drawn, and checks what must hold of it. The targets that match PATTERN, a regular
expression over directory and name, all by default, are run one after the other. What makes
one fail is kept in testdata/fuzz of its package, where "go test" tries it again; when it
is mended, make it a seed in the code. At the end the memory of calls with large bodies is
measured.

  fuzz --list                     the targets
  fuzz --time 2h                  two hours, shared among all
  fuzz --time 5m '^server/'       five minutes for those below server
  fuzz 'api/bounded FuzzDecode'   one

`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	length := flag.Duration("time", 10*time.Minute, "how long to fuzz, shared among the targets")
	parallel := flag.Int("parallel", 2, "how many processes a target has")
	list := flag.Bool("list", false, "list the targets, and run none")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
	flag.Parse()
	pattern, err := regexp.Compile(flag.Arg(0))
	if err != nil {
		return fmt.Errorf("PATTERN: %w", err)
	}
	module, err := binaries.RepositoryDir(ctx)
	if err != nil {
		return err
	}
	targets, err := fuzzcampaign.Targets(module)
	if err != nil {
		return err
	}
	targets = slices.DeleteFunc(targets, func(t fuzzcampaign.Target) bool { return !pattern.MatchString(t.String()) })
	if *list {
		for _, target := range targets {
			fmt.Println(target)
		}
		return nil
	}
	return fuzzcampaign.Run(ctx, fuzzcampaign.Options{Module: module, Targets: targets, Time: *length, Parallel: *parallel, Out: os.Stdout})
}
