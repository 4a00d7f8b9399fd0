package main

import (
	"cmp"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"muster.dev/muster/api/config"
	"muster.dev/muster/inspect"
	"muster.dev/muster/server/logging"
	"muster.dev/muster/server/rescheduling"
)

func newRescheduleCommand() *cobra.Command {
	var flags rescheduleFlags
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

When its configuration changes it ends what it is at, and starts again by the new one.
A change of logging.level alone only changes what is logged. An invalid file is refused,
and the log says so.`,
		Example: `  # Show what would be done, then look at it.
  muster reschedule --kubeconfig ~/.kube/config
  kubectl get reschedulingplans`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withLogs(cmd, &flags.log, func(log *logging.Log, registry inspect.Registry) error {
				options, err := flags.options(cmd, log)
				if err != nil {
					return err
				}
				options.Registry = registry
				return rescheduling.Run(cmd.Context(), options)
			})
		},
	}
	flags.register(cmd.Flags())
	return cmd
}

type rescheduleFlags struct {
	config     string
	kubeconfig string
	log        logFlags
}

func (f *rescheduleFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.config, "config", "", "configuration `FILE` (default: what 'muster config default' prints)")
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig `FILE`; overrides clientConnection.kubeconfig")
	f.log.register(flags)
}

// options loads the configuration, and puts the flags on top of it.
func (f *rescheduleFlags) options(cmd *cobra.Command, log *logging.Log) (rescheduling.Options, error) {
	cfg, warnings, err := loadConfig(f.config)
	if err != nil {
		return rescheduling.Options{}, err
	}
	options, err := processOptions(cmd, log, f.config, cfg, warnings, f.override)
	return rescheduling.Options{Options: options, Connect: restConfig}, err
}

// override puts the flags on top of the configuration. If the flags make it invalid, the error names them.
func (f *rescheduleFlags) override(cfg *config.Configuration) error {
	cfg.ClientConnection.Kubeconfig = cmp.Or(f.kubeconfig, cfg.ClientConnection.Kubeconfig)
	return override(cfg, f.log.override(cfg))
}
