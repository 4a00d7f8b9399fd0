// Command benchpairs measures for how long no pod is bound when a kube-scheduler, the muster beside it, or both are gone.
//
// Two pairs of a stock kube-scheduler and a muster, each on a host of its own, elect their leaders by their own times (a
// lease of 15 seconds). One event after the other happens to the pair that leads: its kube-scheduler is killed and starts
// again in its place, as a static pod's container does; its muster is; the host is lost with both; and the pod with both
// is replaced, as in a rolling update of the chart's mode sidecar. The time is from the event until 30 pods are bound that are
// created right after; bystanders, if there were any, would nominate them meanwhile. The same happens first to two
// kube-schedulers that call no muster: stock.
//
// It prints lines `figure NAME=VALUE`. BENCH_KILLS (50) says how often something happens to pairs, and a third as often to stock.
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
	b := &bench{lab: l, cluster: cluster, options: pairs.Options{Count: 2, Patient: patient, Progress: out}, out: out}
	alone, _, err := b.measure(ctx, true, (kills+2)/3)
	if err != nil {
		return fmt.Errorf("stock: %w", err)
	}
	took, bystanders, err := b.measure(ctx, false, kills)
	if err != nil {
		return err
	}
	lost, err := cluster.Lost(ctx)
	if err != nil {
		return err
	}
	printFigures(out, took, alone)
	fmt.Fprintf(out, "figure nominations_by_bystanders=%d\n", bystanders)
	fmt.Fprintf(out, "figure failover_pods_lost=%d\n", lost)
	return nil
}

// bench has pairs run, one kind after the other, beside one control plane.
type bench struct {
	lab     *lab.Lab
	cluster *pairs.Cluster
	options pairs.Options
	out     io.Writer
}

// measure has events happen to pairs, or to kube-schedulers alone, in turn, and says for how long no pod was bound after each.
func (b *bench) measure(ctx context.Context, alone bool, kills int) (took map[pairs.Event][]time.Duration, bystanders int, err error) {
	o := b.options
	o.Alone = alone
	running, err := pairs.Start(ctx, b.lab.ControlPlane, o)
	if err != nil {
		return nil, 0, err
	}
	defer running.Stop()
	who := "pairs"
	if alone {
		who = "stock"
	}
	took = map[pairs.Event][]time.Duration{}
	for i := range kills {
		event := running.Events()[i%len(running.Events())]
		after, err := meet(ctx, running, b.cluster, event)
		if err != nil {
			return nil, 0, fmt.Errorf("event %d, %s: %w", i+1, event, err)
		}
		took[event] = append(took[event], after)
		fmt.Fprintf(b.out, "%s %d/%d  %-10s pods are bound after %s\n", who, i+1, kills, event, after.Round(time.Millisecond))
	}
	return took, running.Bystanders(), nil
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

func printFigures(out io.Writer, took, alone map[pairs.Event][]time.Duration) {
	all, shared := printEvents(out, "", took), []time.Duration{}
	stock := printEvents(out, "stock_", alone)
	say := func(name string, took time.Duration) {
		fmt.Fprintf(out, "figure failover_%s=%d\n", name, took.Milliseconds())
	}
	say("ms_p99", figures.Quantile(all, 99))
	say("ms_median", figures.Quantile(all, 50))
	say("stock_ms_median", figures.Quantile(stock, 50))
	for _, event := range pairs.Events() {
		if len(took[event]) > 0 && len(alone[event]) > 0 {
			shared = append(shared, took[event]...)
			say(string(event)+"_beyond_stock_ms", figures.Quantile(took[event], 50)-figures.Quantile(alone[event], 50))
		}
	}
	if len(shared) > 0 { // else the pairs met other events than stock did
		say("beyond_stock_ms", figures.Quantile(shared, 50)-figures.Quantile(stock, 50))
	}
}

// printEvents prints how long no pod was bound after each event, and returns all of these times.
func printEvents(out io.Writer, who string, took map[pairs.Event][]time.Duration) (all []time.Duration) {
	for _, event := range pairs.Events() {
		if of := took[event]; len(of) > 0 {
			all = append(all, of...)
			fmt.Fprintf(out, "figure failover_%s%s_ms_median=%d\n", who, event, figures.Quantile(of, 50).Milliseconds())
			fmt.Fprintf(out, "figure failover_%s%s_ms_max=%d\n", who, event, figures.Quantile(of, 100).Milliseconds())
		}
	}
	return all
}
