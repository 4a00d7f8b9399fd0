// Command mutants breaks muster on purpose and tells who notices; see package mutants. Its argument says which capability:
// verdicts, load, gang, operators, people, topology, backfill, nomination, rescheduler or explanations. The exit status is 1
// when nobody notices a mutant.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"

	"muster.dev/muster/e2e/campaigns/mutants"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	only := flag.String("run", "", "try those whose names match this regular expression alone")
	tier := flag.String("tier", "long", "short for the tests that take minutes alone, long for slower ones and campaigns as well")
	seeds := flag.Int("seeds", 24, "how many runs of a campaign those get that no test notices; 0 for none")
	flag.Parse()
	names, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	if *tier != "short" && *tier != "long" {
		return fmt.Errorf("-tier %q: want short or long", *tier)
	}
	all, err := mutants.Capabilities()
	if err != nil {
		return err
	}
	for _, c := range all {
		if c.Name == flag.Arg(0) {
			return c.Run(ctx, mutants.Options{Only: names, Long: *tier == "long", Seeds: *seeds}, os.Stdout)
		}
	}
	var known []string
	for _, c := range all {
		known = append(known, c.Name)
	}
	return fmt.Errorf("argument %q: want one of %s", flag.Arg(0), strings.Join(known, ", "))
}
