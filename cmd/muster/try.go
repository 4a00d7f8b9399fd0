package main

import (
	"cmp"
	"errors"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/config"
	"muster.dev/muster/loadaware/once"
	"muster.dev/muster/server/trial"
)

// What the exit status of 'muster try' tells, beside success, of the pods that fare worst.
const (
	exitNever      = 3
	exitAfterMoves = 4
	exitLater      = 5
	exitMoreNodes  = 6
)

func newTryCommand() *cobra.Command {
	var flags tryFlags
	cmd := &cobra.Command{
		Use:   "try -f FILE",
		Short: "Ask what would become of a job before it is submitted",
		Long: `try tells of the pods that objects in a file would make whether they have room now, once the
rescheduler has moved others, at what time, on more nodes only, or never, and why. Nothing is
written to the cluster.

The file has any objects with pods: a Pod, a Job, a Deployment, a JobSet, a PyTorchJob, with the
PodGroups that they name, in several documents or lists. Pods that start together get places
together, near each other as they ask. Of a Deployment and the like all pods have to have room.
Several gangs and objects take room from each other, by priority and then by name.

The cluster is looked at once, and by the same parts as a muster that runs: its predicates, plans
of gangs, booked room and forecasts. Pods that wait are not in the way. Whether pods may be moved
goes by the rules of --config (rescheduler.evictable); moves need a rescheduler that runs. A pod
has the priority of its spec.priority: what is behind a priorityClassName is not looked up. Of an
object that is in the cluster already, give the copy another name.

` + whichCluster + `

With --snapshot it reads dumps of a cluster instead.

The exit status is 0 where all have room now, 4 where others have to move first, 5 where there is
room at a time that is told, 6 where more nodes would help and no time is known, 3 where some never
run as the cluster is, 1 after a failure and 2 after a wrong command line. The worst one counts.`,
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
