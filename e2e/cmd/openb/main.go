// Command openb places the pods of the openb trace four times, each time on a fresh
// control plane with the trace's nodes and the pods in the same order: by the stock
// scheduler alone, and by muster with every way to choose nodes. It prints how many
// pods were bound and how many would have fit and were not, and fails when muster binds
// fewer than the stock scheduler or leaves out one that fits.
//
// DEMO_DATA is the directory of the trace, relative to the root of the repository. The
// arguments name the contenders, when not all four are wanted.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"text/tabwriter"
	"time"

	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/contender"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/podwatch"
	"muster.dev/muster/e2e/quiet"
	"muster.dev/muster/e2e/settle"
	"muster.dev/muster/e2e/workload"
)

const (
	dataEnv = "DEMO_DATA"
	seed    = 1
)

// choose returns the contenders with these names, in their usual order, all for no name.
func choose(names []string) ([]contender.Contender, error) {
	all := []contender.Contender{contender.Stock, contender.Scheduler, contender.Extender, contender.Nominate}
	if len(names) == 0 {
		return all, nil
	}
	for _, name := range names {
		if !slices.Contains(all, contender.Contender(name)) {
			return nil, fmt.Errorf("contender %q: want some of %v", name, all)
		}
	}
	return slices.DeleteFunc(all, func(c contender.Contender) bool { return !slices.Contains(names, string(c)) }), nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	quiet.Report(ctx, os.Stdout)
	if err := run(ctx, os.Getenv(dataEnv), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "openb:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, data string, names []string, out io.Writer) error {
	contenders, err := choose(names)
	if err != nil {
		return err
	}
	if data == "" {
		return fmt.Errorf("%s is not set: want the directory of the openb trace, relative to the root of the repository", dataEnv)
	}
	if !filepath.IsAbs(data) {
		repository, err := binaries.RepositoryDir(ctx)
		if err != nil {
			return err
		}
		data = filepath.Join(repository, data)
	}
	cluster, err := workload.LoadOpenB(data, seed)
	if err != nil {
		return fmt.Errorf("%s=%s: %w", dataEnv, data, err)
	}
	cluster.Ready()
	dir, err := os.MkdirTemp("", "muster-openb-")
	if err != nil {
		return fmt.Errorf("make a directory for programs: %w", err)
	}
	defer os.RemoveAll(dir)
	programs, err := contender.Build(ctx, dir, out)
	if err != nil {
		return err
	}

	outcomes := map[contender.Contender]*settle.Outcome{}
	for _, c := range contenders {
		fmt.Fprintf(out, "== %s: %d pods on %d nodes\n", c, len(cluster.Pods), len(cluster.Nodes))
		if outcomes[c], err = place(ctx, programs, c, cluster, out); err != nil {
			return fmt.Errorf("%s: %w", c, err)
		}
	}
	printOutcomes(out, contenders, outcomes)
	return judge(outcomes)
}

// place creates all pods before the scheduler starts, so that it finds them in the
// order of the trace and nobody else is at work.
func place(
	ctx context.Context, programs contender.Programs, c contender.Contender, cluster *workload.Cluster, out io.Writer,
) (*settle.Outcome, error) {
	cp, err := controlplane.Start(ctx, controlplane.Options{Controllers: controlplane.PodCreation(), Progress: out})
	if err != nil {
		return nil, err
	}
	defer cp.Stop()
	client, err := kubernetes.NewForConfig(cp.RESTConfig())
	if err != nil {
		return nil, fmt.Errorf("connect to the control plane: %w", err)
	}
	if err := cluster.CreateNodes(ctx, client); err != nil {
		return nil, err
	}
	if err := cluster.CreateWorkloads(ctx, client); err != nil {
		return nil, err
	}
	watch, err := podwatch.Start(ctx, client)
	if err != nil {
		return nil, err
	}
	defer watch.Stop()
	stop, err := programs.Start(ctx, cp, c, 0)
	if err != nil {
		return nil, err
	}
	defer stop()
	patience := settle.DefaultPatience()
	patience.Total = 20 * time.Minute
	return settle.Await(ctx, client, watch, len(cluster.Pods), patience, podwatch.Printer(out, len(cluster.Pods)))
}

func printOutcomes(out io.Writer, contenders []contender.Contender, outcomes map[contender.Contender]*settle.Outcome) {
	fmt.Fprintln(out)
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\tbound\tfit but not bound\tpods/s\t")
	for _, c := range contenders {
		o := outcomes[c]
		fmt.Fprintf(table, "%s\t%d\t%d\t%.0f\t\n", c, o.Bound, len(o.Stranded), o.Rate())
	}
	table.Flush()
	fmt.Fprintln(out)
	for _, c := range contenders {
		fmt.Fprintf(out, "figure openb_bound_%s=%d\n", c, outcomes[c].Bound)
	}
	for _, c := range contenders {
		fmt.Fprintf(out, "figure openb_unbound_fitting_%s=%d\n", c, len(outcomes[c].Stranded))
	}
}

// judge holds muster's outcomes against those of the stock scheduler.
func judge(outcomes map[contender.Contender]*settle.Outcome) error {
	var errs []error
	for _, c := range []contender.Contender{contender.Scheduler, contender.Extender, contender.Nominate} {
		o := outcomes[c]
		if o == nil {
			continue
		}
		if stock := outcomes[contender.Stock]; stock != nil && o.Bound < stock.Bound {
			errs = append(errs, fmt.Errorf("%s bound %d pods, the stock scheduler alone %d", c, o.Bound, stock.Bound))
		}
		if n := len(o.Stranded); n > 0 {
			errs = append(errs, fmt.Errorf("%s left %d pods unbound that fit", c, n))
		}
	}
	return errors.Join(errs...)
}
