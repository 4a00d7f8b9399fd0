// Command mutants breaks packages of muster on purpose and tells who notices; see package mutants. Its argument says
// which: gang or rescheduler. The exit status is 1 when nobody notices a mutant.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"syscall"

	"muster.dev/muster/e2e/campaigns/gangmutants"
	"muster.dev/muster/e2e/campaigns/mutants"
	"muster.dev/muster/e2e/campaigns/reschedulermutants"
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
	seeds := flag.Int("seeds", 24, "how many runs of the campaign those get that no test notices; 0 for none")
	flag.Parse()
	names, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	for _, set := range []*mutants.Set{gangmutants.Set(), reschedulermutants.Set()} {
		if set.Name == flag.Arg(0) {
			return set.Run(ctx, mutants.Options{Only: names, Seeds: *seeds}, os.Stdout)
		}
	}
	return fmt.Errorf("argument %q: want gang or rescheduler", flag.Arg(0))
}
