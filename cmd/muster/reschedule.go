package main

import (
	"cmp"
	"log/slog"

	"github.com/spf13/cobra"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/config/document"
	"muster.dev/muster/inspect"
	"muster.dev/muster/rescheduler/loop"
	"muster.dev/muster/server/app"
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
rescheduler.separate.listen, if there is one.

When its configuration changes it ends what it is at, and begins anew by the new one. A
file that is not valid is refused, and said so in the log.`,
		Example: `  # Show what would be done, then look at it.
  muster reschedule --kubeconfig ~/.kube/config
  kubectl get reschedulingplans`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withLogs(cmd, logLevel, logFormat, func(logger *slog.Logger, registry inspect.Registry) error {
				cfg, warnings, err := loadConfig(file)
				if err != nil {
					return err
				}
				for _, warning := range warnings {
					logger.Warn("configuration", "warning", warning)
				}
				override := func(cfg *config.Configuration) {
					cfg.ClientConnection.Kubeconfig = cmp.Or(kubeconfig, cfg.ClientConnection.Kubeconfig)
				}
				override(cfg)
				return loop.Run(cmd.Context(), loop.Options{
					Config: cfg, Connect: restConfig, Logger: logger, Version: buildInfo().Main.Version, Flags: flagValues(cmd), Registry: registry,
					File: app.ConfigFile{Path: file, Decode: func(content []byte) (*config.Configuration, []string, error) {
						later, warnings, err := document.DecodeFrom(file, content)
						if err == nil {
							override(later)
						}
						return later, warnings, err
					}},
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
