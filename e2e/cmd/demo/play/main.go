// Command play is the demo itself, once all that it needs is built: command demo builds and runs it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/demo"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	unbound, err := run(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
	}
	if err != nil || unbound > 0 {
		os.Exit(1)
	}
}

func run(ctx context.Context) (unbound int, err error) {
	repository, err := binaries.RepositoryDir(ctx)
	if err != nil {
		return 0, err
	}
	options, err := demo.OptionsFromEnv(os.Getenv, repository)
	if err != nil {
		return 0, err
	}
	return demo.Run(ctx, options, os.Stdout)
}
