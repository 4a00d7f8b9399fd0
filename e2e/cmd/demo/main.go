// Command demo shows muster on a real control plane. DEMO_NODES, DEMO_PODS, DEMO_DATA,
// DEMO_SELECTION and DEMO_KEEP shape it; see package demo. The exit status is 1 when a
// pod that fits was not bound.
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
