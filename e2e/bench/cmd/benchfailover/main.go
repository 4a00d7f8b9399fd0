// Command benchfailover measures how soon another kube-scheduler keeps the room that muster has reserved, when the one
// that led is killed.
//
// Two stock schedulers run for election and know nothing of muster. A gang of three is gated and nominated, and waits
// for a pod that takes its time to go. Each failover kills the leader. The time is from when the other one leads until
// the API server has told of a change of each member, from which on a scheduler counts it that knew nothing of it. Then
// pods of the same priority come that would fit where members are to go; one that is bound has taken a reservation,
// which is lost, as is one that is taken back.
//
// It prints lines `figure NAME=VALUE`. BENCH_FAILOVERS (100) says how often the leader is killed.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"muster.dev/muster/e2e/bench/figures"
	"muster.dev/muster/e2e/bench/lab"
	"muster.dev/muster/e2e/bench/quiet"
)

const (
	failoversEnv     = "BENCH_FAILOVERS"
	defaultFailovers = 100
	maxFailovers     = 10_000
)

func main() {
	quiet.Measure("benchfailover", func(ctx context.Context) error { return run(ctx, os.Getenv, os.Stdout) })
}

func run(ctx context.Context, getenv func(string) string, out io.Writer) error {
	failovers, err := figures.FromEnv(getenv, failoversEnv, defaultFailovers, maxFailovers)
	if err != nil {
		return err
	}
	l, err := lab.Start(ctx, lab.Options{Nodes: nodes(), CRDs: true, KWOK: true, Poll: poll}, out)
	if err != nil {
		return err
	}
	defer l.Close()
	g, err := prepare(ctx, l, out)
	if err != nil {
		return err
	}
	var took []time.Duration
	lost := 0
	for i := range failovers {
		after, kept, err := g.failOver(ctx, i)
		if err != nil {
			return fmt.Errorf("failover %d: %w", i, err)
		}
		took = append(took, after)
		lost += members - kept
		fmt.Fprintf(out, "failover %d/%d: %d reservations are kept after %s\n", i+1, failovers, kept, after.Round(time.Millisecond))
	}
	fmt.Fprintf(out, "figure ahead_failovers=%d\n", failovers)
	fmt.Fprintf(out, "figure ahead_reservation_after_failover_ms=%d\n", figures.Quantile(took, 99).Milliseconds())
	fmt.Fprintf(out, "figure ahead_reservation_after_failover_median_ms=%d\n", figures.Quantile(took, 50).Milliseconds())
	fmt.Fprintf(out, "figure ahead_reservations_lost=%d\n", lost)
	return nil
}

// failOver kills the scheduler that leads. It says how long after another one led all members had changed, and how many
// are reserved when others have tried to take their places.
func (g *ground) failOver(ctx context.Context, number int) (after time.Duration, kept int, err error) {
	leader, err := g.schedulers.AwaitLeader(ctx)
	if err != nil {
		return 0, 0, err
	}
	before, err := g.versions(ctx)
	if err != nil {
		return 0, 0, err
	}
	g.schedulers.Kill(leader)
	if _, err := g.schedulers.AwaitLeader(ctx); err != nil {
		return 0, 0, err
	}
	began := time.Now()
	if err := g.awaitChanges(ctx, before); err != nil {
		return 0, 0, err
	}
	after = time.Since(began)
	taken, err := g.race(ctx, number)
	if err != nil {
		return 0, 0, err
	}
	if kept, err = g.reserved(ctx); err != nil {
		return 0, 0, err
	}
	return after, min(kept, members-taken), g.schedulers.Start(ctx, leader)
}
