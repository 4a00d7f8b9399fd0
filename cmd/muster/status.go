package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"muster.dev/muster/server/remote"
)

func newStatusCommand() *cobra.Command {
	var flags statusFlags
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Ask a muster that runs how it fares",
		Long: `status asks a muster that runs for its version and configuration, whether it is ready and
leads, how many nodes, pods and gangs there are and why gangs wait, how often classes of
pods are known already, and how old the figures of usage are; and a rescheduler for its
plans and what its policies found last. With --snapshot it reads a dump of a cluster
instead.

` + whomItAsks + ` The rescheduler is found the same way, in muster's pod or in one of
its own, unless --rescheduler names a URL. With --server only that one is asked.

With --watch it asks again every so often, and redraws the answer. Where its output is no
terminal, it prints each answer that tells something new but the age of figures, after a
line with the time: nothing else is in JSON, and --- in YAML.

What cannot be asked is said, and the rest is shown. The exit status is 0, 1 when muster
itself cannot be asked and 2 after a wrong command line. With --watch it ends at ^C, and
the last answer counts.`,
		Example: `  # In the cluster that kubectl asks.
  muster status
  kubectl muster status --context production --watch

  # In muster's own pod.
  kubectl -n kube-system exec deployment/muster -- /muster status --server http://127.0.0.1:8887

  # Without installing anything.
  kubectl get nodes,pods -A -o yaml | muster status --snapshot -`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return flags.run(cmd) },
	}
	flags.register(cmd.Flags(), "n")
	flags.output.register(cmd.Flags(), true)
	registerRescheduler(cmd.Flags(), &flags.rescheduler)
	cmd.Flags().BoolVarP(&flags.watch, "watch", "w", false, "ask again and again, until ^C")
	cmd.Flags().DurationVar(&flags.interval, "interval", defaultInterval, "how often to ask with --watch")
	return cmd
}

// registerRescheduler adds the flag of where the rescheduler is.
func registerRescheduler(flags *pflag.FlagSet, url *string) {
	flags.StringVar(url, "rescheduler", "", "`URL` of the rescheduler to ask (default: that of the cluster, and none with --server)")
}

const (
	defaultInterval = 2 * time.Second
	leastInterval   = 100 * time.Millisecond
)

type statusFlags struct {
	remoteFlags
	rescheduler string
	output      outputFlag
	watch       bool
	interval    time.Duration
}

func (f *statusFlags) run(cmd *cobra.Command) error {
	out, err := f.output.printer(cmd)
	if err != nil {
		return err
	}
	if err := f.check(cmd); err != nil {
		return err
	}
	asked, err := f.client(cmd, f.rescheduler)
	if err != nil {
		return err
	}
	defer asked.stop()
	var last *remote.Status
	ask := func(ctx context.Context) *remote.Status {
		told := remote.AskStatus(ctx, asked.muster, asked.rescheduler)
		if ctx.Err() == nil { // else it tells of the interruption
			last = told
		}
		return told
	}
	if f.watch {
		err = (&watch{every: f.interval, printer: out, out: cmd.OutOrStdout(), ask: ask}).run(cmd.Context())
	} else {
		err = out.print(cmd.OutOrStdout(), ask(cmd.Context()))
	}
	if out.data() { // text has it in itself
		asked.tell(cmd, true)
	}
	if err != nil {
		return err
	}
	if last == nil || last.Muster == nil {
		return statusError(exitFailure) // what went wrong is shown
	}
	return nil
}

func (f *statusFlags) check(cmd *cobra.Command) error {
	switch {
	case f.watch && len(f.snapshot.files) > 0:
		return usagef(cmd, "--watch: the dump of --snapshot does not change")
	case !f.watch && cmd.Flags().Changed("interval"):
		return usagef(cmd, "--interval: %s is for --watch", f.interval)
	case f.interval < leastInterval:
		return usagef(cmd, "--interval: %s is less than %s", f.interval, leastInterval)
	case f.rescheduler != "" && len(f.snapshot.files) > 0:
		return usagef(cmd, "--rescheduler: none belongs to the dump of --snapshot")
	}
	return nil
}
