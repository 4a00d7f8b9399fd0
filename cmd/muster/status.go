package main

import (
	"github.com/spf13/cobra"

	"muster.dev/muster/inspect"
	"muster.dev/muster/server/remote"
)

func newStatusCommand() *cobra.Command {
	var flags remoteFlags
	var rescheduler, output string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Ask a muster that runs how it fares",
		Long: `status asks a muster that runs for its version and configuration, whether it is ready and
leads, how many nodes, pods and gangs there are and why gangs wait, how often classes of
pods are known already, and how old the figures of usage are; and a rescheduler for its
plans and what its policies found last. With --snapshot it reads a dump of a cluster
instead.

What cannot be asked is said, and the rest is shown. The exit status is 0, 1 when muster
itself cannot be asked and 2 after a wrong command line.`,
		Example: `  # In muster's own pod.
  kubectl -n kube-system exec deployment/muster -- /muster status

  # Through a forwarded port.
  kubectl -n kube-system port-forward deployment/muster 8887 &
  muster status

  # Without installing anything.
  kubectl get nodes,pods -A -o yaml | muster status --snapshot -`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			format, err := outputFormat(cmd, output)
			if err != nil {
				return err
			}
			muster, stop, err := flags.client(cmd)
			if err != nil {
				return err
			}
			defer stop()
			var beside *remote.Client // a snapshot has none
			if len(flags.snapshot.files) == 0 {
				options := flags.Options
				options.Server = rescheduler
				if beside, err = remote.New(options); err != nil {
					return usagef(cmd, "--rescheduler: %w", err)
				}
			}
			status := remote.AskStatus(cmd.Context(), muster, beside)
			if err := inspect.Print(cmd.OutOrStdout(), status, format); err != nil {
				return err
			}
			if status.Muster == nil {
				return statusError(exitFailure) // what went wrong is shown
			}
			return nil
		},
	}
	flags.register(cmd.Flags())
	cmd.Flags().StringVar(&rescheduler, "rescheduler", defaultRescheduler, "`URL` of the rescheduler to ask")
	registerOutput(cmd.Flags(), &output)
	return cmd
}
