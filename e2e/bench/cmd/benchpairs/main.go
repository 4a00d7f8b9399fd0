// Command benchpairs measures for how long no pod is bound when a kube-scheduler, the muster beside it, or both are gone.
//
// Two pairs of a stock kube-scheduler and a muster, each on a host of its own, elect their leaders by their own times (a
// lease of 15 seconds). One event after the other happens to the pair that leads: its kube-scheduler is killed and starts
// again in its place, as a static pod's container does; its muster is; the host is lost with both; and the pod with both
// is replaced, as in a rolling update of the chart's mode sidecar. The time is from the event until 30 pods are bound that are
// created right after; bystanders, if there were any, would nominate them meanwhile.
//
// It prints lines `figure NAME=VALUE`. BENCH_KILLS (50) says how often something happens.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"muster.dev/muster/e2e/bench/figures"
	"muster.dev/muster/e2e/bench/lab"
	"muster.dev/muster/e2e/bench/pairs"
	"muster.dev/muster/e2e/bench/quiet"
	"muster.dev/muster/e2e/process"
)

const (
	killsEnv     = "BENCH_KILLS"
	defaultKills = 50
	maxKills     = 10_000
)

func main() {
	impatient := flag.Bool("impatient", false, "elect leaders by a lease of 4 seconds: another measurement, that is over sooner")
	flag.Parse()
	quiet.Measure("benchpairs", func(ctx context.Context) error { return run(ctx, os.Getenv, !*impatient, os.Stdout) })
}

func run(ctx context.Context, getenv func(string) string, patient bool, out io.Writer) error {
	kills, err := figures.FromEnv(getenv, killsEnv, defaultKills, maxKills)
	if err != nil {
		return err
	}
	if err := process.Hosts(); err != nil {
		return fmt.Errorf("the pairs cannot be on hosts of other names: %w", err)
	}
	l, err := lab.Start(ctx, lab.Options{}, out)
	if err != nil {
		return err
	}
	defer l.Close()
	cluster, err := pairs.NewCluster(ctx, l.Client)
	if err != nil {
		return err
	}
	running, err := pairs.Start(ctx, l.ControlPlane, pairs.Options{Count: 2, Patient: patient, Progress: out})
	if err != nil {
		return err
	}
	defer running.Stop()
	took := map[pairs.Event][]time.Duration{}
	for i := range kills {
		event := pairs.Events()[i%len(pairs.Events())]
		after, err := meet(ctx, running, cluster, event)
		if err != nil {
			return fmt.Errorf("event %d, %s: %w", i+1, event, err)
		}
		took[event] = append(took[event], after)
		fmt.Fprintf(out, "%d/%d  %-10s pods are bound after %s\n", i+1, kills, event, after.Round(time.Millisecond))
	}
	lost, err := cluster.Lost(ctx)
	if err != nil {
		return err
	}
	printFigures(out, took)
	fmt.Fprintf(out, "figure nominations_by_bystanders=%d\n", running.Bystanders())
	fmt.Fprintf(out, "figure failover_pods_lost=%d\n", lost)
	return nil
}

// meet has an event happen to the pair that leads, once it has bound some pods, and says how long none was bound.
func meet(ctx context.Context, running *pairs.Pairs, cluster *pairs.Cluster, event pairs.Event) (after time.Duration, err error) {
	leader, err := running.Leader(ctx)
	if err != nil {
		return 0, err
	}
	if err := cluster.BindMany(ctx); err != nil {
		return 0, err
	}
	began := time.Now()
	err = running.Meet(ctx, leader, event, func(ctx context.Context) error {
		defer func() { after = time.Since(began) }()
		return cluster.BindMany(ctx)
	})
	return after, err
}

func printFigures(out io.Writer, took map[pairs.Event][]time.Duration) {
	var all []time.Duration
	say := func(name string, of []time.Duration, percent int) {
		fmt.Fprintf(out, "figure failover_%s=%d\n", name, figures.Quantile(of, percent).Milliseconds())
	}
	for _, event := range pairs.Events() {
		if of := took[event]; len(of) > 0 {
			all = append(all, of...)
			say(string(event)+"_ms_median", of, 50)
			say(string(event)+"_ms_max", of, 100)
		}
	}
	say("ms_p99", all, 99)
	say("ms_median", all, 50)
}
