package main

import (
	"cmp"
	"errors"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/config"
	"muster.dev/muster/rescheduler/once"
	"muster.dev/muster/server/trial"
)

// What the exit status of 'muster try' tells, beside success, of the pods that fare worst.
const (
	exitNever          = 3
	exitAfterMoves     = 4
	exitLater          = 5
	exitMoreNodes      = 6
	exitAfterEvictions = 7
)

func newTryCommand() *cobra.Command {
	var flags tryFlags
	cmd := &cobra.Command{
		Use:   "try -f FILE",
		Short: "Ask what would become of a job before it is submitted",
		Long: `try tells whether the pods that a file would make have room: now, once pods of lower priority have
been evicted, once the rescheduler has moved others, at some time, on more nodes only, or never;
and why. It writes nothing to the cluster.

The file may have a Pod, a Job, a Deployment, a JobSet, a PyTorchJob or any other object with
templates of pods, and PodGroups, in several documents or lists. Pods that start together get
places together, near each other as they ask. All pods of a Deployment have to have room. What has
room takes it from the rest of the file, by priority and then by name.

try looks at the cluster once, with the parts of a muster that runs: its predicates, plans of
gangs, booked room and forecasts. It lists what muster watches, and needs the rights to. Pods that
wait take no room. Which pods may move is said by --config (rescheduler.evictable), and they move
only where a rescheduler runs. Pods have the priority of their class, which the cluster, its dump
or the file has. Give an object another name if the cluster has it already.

` + whichCluster + `

With --snapshot it reads dumps of a cluster instead.

The exit status is that of the pods that fare worst: 0 with room now, 7 once others have been
evicted, 4 once others have moved, 5 at a time that is told, 6 with more nodes or at no time that
is known, 3 if they never run as the cluster is. It is 1 after a failure and 2 after a wrong
command line.`,
		Example: `  # Would my job start?
  muster try -f job.yaml -n lab

  # On which nodes would each pod run?
  kubectl muster try -f job.yaml -o wide

  # On a dump, by the configuration of that cluster.
  kubectl get nodes,pods,jobs -A -o yaml | muster try -f job.yaml --snapshot - --config muster.yaml`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return flags.run(cmd) },
	}
	flags.cluster.register(cmd.Flags())
	flags.output.register(cmd.Flags(), true)
	cmd.Flags().StringVarP(&flags.manifest, "filename", "f", "", "`FILE` with the objects to try, in YAML or JSON; - is standard input")
	cmd.Flags().StringVarP(&flags.namespace, "namespace", "n", "",
		"`NAMESPACE` of objects that name none (default: that of the kubeconfig's context, or default)")
	cmd.Flags().StringArrayVar(&flags.files, "snapshot", nil,
		"`FILE` to read instead of a cluster, written by 'kubectl get nodes,pods,... -A -o yaml' or -o json; - is standard input; "+
			"may be repeated")
	cmd.Flags().StringVar(&flags.config, "config", "",
		"configuration `FILE` with profiles, gangs and policies (default: what 'muster config default' prints)")
	return cmd
}

type tryFlags struct {
	cluster                     clusterFlags
	output                      outputFlag
	manifest, namespace, config string
	files                       []string
}

// check names the first flag that makes no sense.
func (f *tryFlags) check() error {
	switch {
	case f.manifest == "":
		return errors.New("--filename: name a file with the objects to try")
	case len(f.files) > 0 && f.cluster.given():
		return errors.New("--snapshot stands in for the API server: leave --kubeconfig and --context out")
	}
	for _, file := range f.files {
		if file == "-" && f.manifest == "-" {
			return errors.New("--filename and --snapshot: only one of them can be standard input")
		}
	}
	return nil
}

func (f *tryFlags) run(cmd *cobra.Command) error {
	out, err := f.output.printer(cmd)
	if err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return usagef(cmd, "%w", err)
	}
	manifest, err := readManifest(cmd, f.manifest)
	if err != nil {
		return err
	}
	cfg, err := loadConfigWarning(cmd, f.config)
	if err != nil {
		return err
	}
	from, namespace, err := f.source(cmd, cfg, out.data())
	if err != nil {
		return err
	}
	world, err := trial.New(cmd.Context(), cfg, from)
	if err != nil {
		return err
	}
	answer, err := world.Try(manifest, namespace)
	if err != nil {
		return usagef(cmd, "--filename: %w", err)
	}
	if err := out.print(cmd.OutOrStdout(), answer); err != nil {
		return err
	}
	return exitOf(answer.Outcome)
}

// source returns where the cluster is read, and the namespace of objects that name none.
func (f *tryFlags) source(cmd *cobra.Command, cfg *config.Configuration, data bool) (from once.Source, namespace string, err error) {
	from = once.Source{
		Logger:     slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn})),
		Registerer: prometheus.NewRegistry(), Files: f.files, Stdin: cmd.InOrStdin(),
	}
	if len(f.files) > 0 {
		return from, cmp.Or(f.namespace, metav1.NamespaceDefault), nil
	}
	found, err := f.cluster.find()
	if err != nil {
		return from, "", err
	}
	from.RESTConfig, err = f.cluster.connect(cmd, cfg.ClientConnection, data)
	return from, cmp.Or(f.namespace, found.Namespace), err
}

// exitOf returns the exit status of an outcome, as an error unless it is success.
func exitOf(outcome trial.Outcome) error {
	switch outcome {
	case trial.AfterEvictions:
		return statusError(exitAfterEvictions)
	case trial.AfterMoves:
		return statusError(exitAfterMoves)
	case trial.Later:
		return statusError(exitLater)
	case trial.MoreNodes:
		return statusError(exitMoreNodes)
	case trial.Never:
		return statusError(exitNever)
	case trial.Now:
	}
	return nil
}
