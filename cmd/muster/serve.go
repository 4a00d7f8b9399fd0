package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"muster.dev/muster/api/config"
	"muster.dev/muster/inspect"
	"muster.dev/muster/server"
	"muster.dev/muster/server/logging"
)

func newServeCommand() *cobra.Command {
	var flags serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the extender",
		Long: `serve answers kube-scheduler's calls: POST /filter, /prioritize, /preempt and /bind,
and says at the same address whether it is alive and ready, by /livez and /readyz. At
another one (--debug-listen) it serves /metrics, /configz, a page to look at and an index
of what else there is under /debug/. Calls of web pages are refused at both.

It connects to the API server with --kubeconfig, else with the kubeconfig that the
configuration names, else with the in-cluster credentials of its pod. It is ready
once it has seen the whole cluster and, with leader election, once it leads.

With --snapshot it needs no API server: it answers filter and prioritize from
files written by kubectl, and refuses to bind.

The first SIGINT or SIGTERM turns readiness off and lets the calls in flight
finish; the second ends the process at once. The exit status is 0 after a clean
stop, 1 after a failure and 2 after a wrong command line.`,
		Example: `  # Beside a kube-scheduler, from outside of the cluster.
  muster serve --kubeconfig ~/.kube/config

  # In a pod, with a configuration file.
  muster serve --config /etc/muster/muster.yaml --log-format json

  # From a dump, to try it with curl.
  kubectl get nodes,pods -A -o yaml | muster serve --snapshot -
  curl -s localhost:8887/debug/`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withLogs(cmd, &flags.log, func(log *logging.Log, registry inspect.Registry) error {
				options, err := flags.options(cmd, log)
				if err != nil {
					return err
				}
				options.Registry = registry
				return server.Run(cmd.Context(), options)
			})
		},
	}
	flags.register(cmd.Flags())
	return cmd
}

type serveFlags struct {
	config     string
	kubeconfig string
	listen     string
	debug      string
	snapshots  []string
	log        logFlags
	deprecated deprecatedFlags
}

func (f *serveFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.config, "config", "", "configuration `FILE` (default: what 'muster config default' prints)")
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig `FILE`; overrides clientConnection.kubeconfig")
	flags.StringVar(&f.listen, "listen", "", "`ADDRESS` to take kube-scheduler's calls at, as host:port; overrides serving.listen")
	flags.StringVar(
		&f.debug, "debug-listen", "", "`ADDRESS` of the page, /metrics and what is under /debug/, as host:port; overrides debug.listen",
	)
	flags.StringArrayVar(
		&f.snapshots,
		"snapshot",
		nil,
		"`FILE` to answer from instead of an API server, written by 'kubectl get nodes,pods,... -A -o yaml' or -o json; - is standard input; "+
			"may be repeated",
	)
	f.log.register(flags)
	f.deprecated.register(flags)
}

// options loads the configuration, puts the flags on top of it and connects.
func (f *serveFlags) options(cmd *cobra.Command, log *logging.Log) (server.Options, error) {
	if len(f.snapshots) > 0 && f.kubeconfig != "" {
		return server.Options{}, usagef(cmd, "--snapshot and --kubeconfig exclude each other: a snapshot stands in for the API server")
	}
	cfg, warnings, err := f.deprecated.load(cmd, f.config, func(flag, why string) {
		log.Logger.Warn("deprecated flag", "flag", flag, "warning", why)
	})
	if err != nil {
		return server.Options{}, err
	}
	options := server.Options{SnapshotFiles: f.snapshots, Stdin: cmd.InOrStdin()}
	if options.Options, err = processOptions(cmd, log, f.config, cfg, warnings, f.override); err != nil {
		return server.Options{}, err
	}
	if len(f.snapshots) == 0 {
		if options.RESTConfig, err = restConfig(cfg.ClientConnection); err != nil {
			return server.Options{}, fmt.Errorf("connect to the API server: %w", err)
		}
	}
	return options, nil
}

// override puts the flags on top of the configuration. If the flags make it invalid, the error names them.
func (f *serveFlags) override(cfg *config.Configuration) error {
	if f.kubeconfig != "" {
		cfg.ClientConnection.Kubeconfig = f.kubeconfig
	}
	return override(
		cfg,
		fieldFlag{"--listen", f.listen, &cfg.Serving.Listen},
		fieldFlag{"--debug-listen", f.debug, &cfg.Debug.Listen},
		f.log.override(cfg),
	)
}
