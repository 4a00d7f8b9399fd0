// Command muster stands beside a stock kube-scheduler as its extender.
//
// This package only reads the command line: each command has a file of its name that
// declares its flags, turns them into options and calls the package that does the
// work. Results go to standard output, logs and errors to standard error. The exit
// status is 0 after a clean end, 1 after a failure and 2 after a wrong command line.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // for maintenance windows: muster's image has no time zones
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
