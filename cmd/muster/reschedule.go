package main

import (
	"cmp"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"muster.dev/muster/inspect"
	"muster.dev/muster/rescheduler/loop"
	"muster.dev/muster/server/logging"
)

func newRescheduleCommand() *cobra.Command {
	var file, kubeconfig, logFormat string
	var logLevel slog.Level
	cmd := &cobra.Command{
		Use:   "reschedule",
		Short: "Move pods so that pending ones get a place, or nodes become empty",
		Long: `reschedule looks every so often which pods to move so that pending ones get a place, or
for another of the reasons that the configuration turns on, and makes that a
ReschedulingPlan. What becomes of it hangs on rescheduler.mode: DryRun, the default,
only shows it; Approve carries it out once it is annotated
rescheduling.muster.dev/approve=true; Auto at once.

It runs beside 'muster serve', with the same configuration: that keeps the room which
plans count on. Of several replicas one acts, by a Lease. It serves /livez, /readyz,
/metrics and /debug/rescheduler on rescheduler.listen, and takes POST /separate on
rescheduler.separate.listen, if there is one.`,
		Example: `  # Show what would be done, then look at it.
  muster reschedule --kubeconfig ~/.kube/config
  kubectl get reschedulingplans`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withLogs(cmd, logLevel, logFormat, func(logger *slog.Logger, registry inspect.Registry) error {
				config, warnings, err := loadConfig(file)
				if err != nil {
					return err
				}
				for _, warning := range warnings {
					logger.Warn("configuration", "warning", warning)
				}
				config.ClientConnection.Kubeconfig = cmp.Or(kubeconfig, config.ClientConnection.Kubeconfig)
				connection, err := restConfig(config.ClientConnection)
				if err != nil {
					return fmt.Errorf("connect to the API server: %w", err)
				}
				return loop.Run(cmd.Context(), loop.Options{
					Config: config, RESTConfig: connection, Logger: logger, Version: buildInfo().Main.Version, Flags: flagValues(cmd), Registry: registry,
				})
			})
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "configuration `FILE` (default: what 'muster config default' prints)")
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig `FILE`; overrides clientConnection.kubeconfig")
	cmd.Flags().TextVar(&logLevel, "log-level", slog.LevelInfo, "the least important `LEVEL` to log: debug, info, warn or error")
	cmd.Flags().StringVar(&logFormat, "log-format", logging.FormatText, "`FORMAT` of log lines: text or json")
	return cmd
}
