// Command attack attacks muster on a real control plane; see package attack. The exit status is 1 when
// an attack succeeds.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"syscall"

	"muster.dev/muster/e2e/campaigns/attack"
)

const usage = `attack tries out what somebody hostile could do to a muster that serves a real control plane:
anybody who reaches its ports, a tenant who may create pods, a thief of muster's account, and
a page in a browser. It starts everything by itself, on 127.0.0.1, and stops it.

A line tells what came of each attack: "held", or "SUCCEEDED" and how. A success is a defect of
muster's, and the exit status is 1 then. Nothing can be said, and the status is 2, when an attack could
not be tried.

  go run ./cmd/attack                   # all of them
  go run ./cmd/attack -list             # what there is
  go run ./cmd/attack -run 'bind|tls'   # those whose names match

`

func main() {
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
	list := flag.Bool("list", false, "list the attacks, who tries each and what, and try none")
	names := flag.String("run", "", "try the attacks whose names match this `REGEXP`, all when empty")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	report, err := run(ctx, *names, *list)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "attack:", err)
		os.Exit(2)
	case len(report.Succeeded) > 0:
		os.Exit(1)
	}
}

func run(ctx context.Context, names string, list bool) (report attack.Report, err error) {
	pattern, err := regexp.Compile(names)
	if err != nil {
		return report, fmt.Errorf("-run: %w", err)
	}
	var chosen []attack.Attack
	for _, a := range attack.All() {
		if pattern.MatchString(a.Name) {
			chosen = append(chosen, a)
		}
	}
	switch {
	case len(chosen) == 0:
		return report, fmt.Errorf("-run: %q matches no attack; -list lists them", names)
	case list:
		for _, a := range chosen {
			fmt.Printf("%-28s %-28s %s\n", a.Name, a.By, a.Tries)
		}
		return report, nil
	}
	dir, err := os.MkdirTemp("", "muster-attack-")
	if err != nil {
		return report, err
	}
	if report, err = attack.Run(ctx, chosen, dir, os.Stdout, os.Stderr); err != nil {
		return report, fmt.Errorf("%w (logs: %s)", err, dir)
	}
	report.Figures(os.Stdout)
	if len(report.Succeeded) > 0 {
		fmt.Fprintf(os.Stderr, "attack: logs: %s\n", dir)
		return report, nil
	}
	return report, os.RemoveAll(dir)
}
