// Command gangmutants breaks package gang on purpose and tells who notices; see package gangmutants. The exit
// status is 1 when nobody notices a mutant.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"syscall"

	"muster.dev/muster/e2e/gangmutants"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "gangmutants:", err)
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
	return gangmutants.Run(ctx, gangmutants.Options{Only: names, Seeds: *seeds}, os.Stdout)
}
