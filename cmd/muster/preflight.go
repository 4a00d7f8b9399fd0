package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"muster.dev/muster/server/preflight"
)

func newPreflightCommand() *cobra.Command {
	var path, as, name, schedulerFile string
	var cluster clusterFlags
	var output outputFlag
	cmd := &cobra.Command{
		Use:   "preflight",
		Short: "Tell what a cluster allows, and what muster does there",
		Long: `preflight looks at a cluster and tells what muster, as it is configured, finds there: its
version, which kinds of policies and of PodGroups it has, whether the policies that gate
pods are installed and current, which rights there are, and whether the lease of
kube-scheduler can be read. For each it tells what follows. It changes nothing.
With --scheduler-config it compares kube-scheduler's file with muster's, and names each
line that has nodes filtered or rated otherwise than the profiles say.

` + whichCluster + `

preflight asks with your own rights. After muster is installed, ask as
its account, which takes the right to impersonate it, or run preflight in its pod.

UNKNOWN marks what the API does not tell, or not to you. The exit status is 1
if something is MISSING that is needed, and after any error.`,
		Example: `  # What would muster find on this cluster?
  muster preflight --config muster.yaml --context production

  # Does kube-scheduler rate nodes as the profiles say?
  muster preflight --config muster.yaml --scheduler-config scheduler.yaml

  # What may the account of an installed muster do?
  muster preflight --config muster.yaml --as system:serviceaccount:kube-system:muster`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out, err := output.printer(cmd)
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("name") {
				if err := checkName(cmd, name); err != nil {
					return err
				}
			}
			cfg, _, err := loadConfig(path)
			if err != nil {
				return err
			}
			var scheduler []byte
			if schedulerFile != "" {
				if scheduler, err = os.ReadFile(schedulerFile); err != nil {
					return fmt.Errorf("--scheduler-config: %w", err)
				}
			}
			connection, err := cluster.connect(cmd, cfg.ClientConnection, out.data())
			if err != nil {
				return err
			}
			connection.Impersonate = rest.ImpersonationConfig{UserName: as}
			client, err := kubernetes.NewForConfig(connection)
			if err != nil {
				return err
			}
			report, err := preflight.Run(cmd.Context(), preflight.Options{
				Client: client, Config: cfg, Name: name, Metrics: preflight.MetricsOf(client), Scheduler: scheduler,
			})
			if err != nil {
				return err
			}
			if err := out.print(cmd.OutOrStdout(), report); err != nil {
				return err
			}
			if !report.Passes() {
				return statusError(exitFailure) // what is missing is shown
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&path, "config", "", "muster's configuration `FILE` (default: what 'muster config default' prints)")
	cluster.register(flags)
	flags.StringVar(&schedulerFile, "scheduler-config", "", "configuration `FILE` of kube-scheduler, to compare with what muster's asks for")
	flags.StringVar(&as, "as", "", "`USER` to ask as, instead of that of the kubeconfig")
	flags.StringVar(
		&name,
		"name",
		"",
		"`NAME` that the names of the policies, or of the webhook, begin with (default: leaderElection.resourceName, as the chart has it, "+
			"or muster-host, as 'muster install' has it)",
	)
	output.register(flags, false)
	return cmd
}
