// Command demo shows muster on a real control plane. DEMO_NODES, DEMO_PODS, DEMO_DATA,
// DEMO_SELECTION and DEMO_KEEP shape it; see package demo. The exit status is 1 when a
// pod that fits was not bound.
//
// It imports next to nothing, so that it starts at once and tells how the rest is compiled; then it runs command play.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"muster.dev/muster/e2e/binaries"
)

// beganEnv is the variable that says when the demo began, in seconds since 1970. What plays prints how long all took if it
// is set.
const beganEnv = "DEMO_BEGAN"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		if !errors.Is(err, errPlayed) {
			fmt.Fprintln(os.Stderr, "demo:", err)
		}
		os.Exit(1)
	}
}

// errPlayed says that command play has failed, and has said why.
var errPlayed = errors.New("play failed")

func run(ctx context.Context) error {
	fmt.Println("== Building what is not there yet of etcd, kube-apiserver, kube-scheduler, KWOK and muster")
	prepared, err := binaries.Prepare(ctx, os.Stdout, "./cmd/demo/play", "./demo",
		binaries.Etcd, binaries.APIServer, binaries.Scheduler, binaries.KWOK)
	if err != nil {
		return err
	}
	play := exec.CommandContext(ctx, prepared.Command)
	play.Stdout, play.Stderr = os.Stdout, os.Stderr
	play.Cancel = func() error { return play.Process.Signal(syscall.SIGTERM) } // it stops the control plane
	play.Env = os.Environ()
	if !prepared.Programs {
		play.Env = slices.DeleteFunc(play.Env, func(v string) bool { return strings.HasPrefix(v, beganEnv+"=") })
	}
	err = play.Run()
	if _, ended := errors.AsType[*exec.ExitError](err); ended {
		return errPlayed
	}
	return err
}
