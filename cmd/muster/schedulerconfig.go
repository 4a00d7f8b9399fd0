package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"muster.dev/muster/server/admission"
)

func newSchedulerConfigCommand() *cobra.Command {
	var flags schedulerConfigFlags
	cmd := &cobra.Command{
		Use:   "scheduler-config",
		Short: "Print the kube-scheduler configuration that registers muster",
		Long: `scheduler-config prints a complete KubeSchedulerConfiguration: a scheduler profile
for each profile of muster, and muster as the extender of them all.

muster is entered twice under one URL, because kube-scheduler has one timeout for
all verbs of an entry. Filter, prioritize and preempt stop all scheduling while
they run and get the short timeouts.filter; bind runs beside and gets the long
timeouts.bind. Neither entry is ignorable: kube-scheduler would bind the pods
itself while muster is away, as --ignorable asks.

With --managed kube-scheduler asks muster only about pods that ask for the resources
muster.dev/managed and muster.dev/bound, which cost nothing and which the policy of
'muster managed-policy' adds. The outage of a muster stops no other pods.

With offload, in a profile of the configuration or by --offload in all of them,
kube-scheduler leaves to muster the plugins that muster runs in that profile: they
are disabled where it would run them a second time, which is most of its work for
pods with affinity or spread constraints. NodeResourcesFit stays on as a filter, as
preemption needs it, and every node with room is offered to muster. Where no pod is to
be evicted for another one, --no-preemption turns that off as well. muster must run with
'offload: true' in the same profiles.

The URL follows from the serving section of the configuration, which suits a
kube-scheduler in the same pod or on the same host. With https, --ca-file is
required: kube-scheduler verifies no certificate without it. The paths of files are
those on the machine of kube-scheduler; they are not read here.

Flags of 'muster serve' that are deprecated mean the same here, so that both have the
same profile.`,
		Example: `  # For a kube-scheduler and a muster on this host.
  muster scheduler-config --kubeconfig ~/.kube/config > scheduler.yaml
  kube-scheduler --config scheduler.yaml

  # A muster that runs elsewhere, with TLS; every node is offered to it.
  muster scheduler-config --config muster.yaml --url https://muster.kube-system.svc:8888 \
    --ca-file /etc/kubernetes/muster/ca.crt --percentage-of-nodes-to-score 100

  # What changes when the predicates are left to muster.
  diff <(muster scheduler-config) <(muster scheduler-config --offload)`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, warnings, err := flags.deprecated.load(cmd, flags.config, func(flag, why string) {
				fmt.Fprintf(cmd.ErrOrStderr(), "muster: warning: %s: %s\n", flag, why)
			})
			if err != nil {
				return err
			}
			for _, warning := range warnings {
				fmt.Fprintf(cmd.ErrOrStderr(), "muster: warning: %s\n", warning)
			}
			scheduler, err := flags.scheduler.For(config)
			if err != nil {
				return &usageError{command: cmd.CommandPath(), err: err}
			}
			document, err := scheduler.Encode()
			if err != nil {
				return fmt.Errorf("encode the scheduler's configuration: %w", err)
			}
			return flags.write(cmd.OutOrStdout(), document)
		},
	}
	flags.register(cmd.Flags())
	return cmd
}

type schedulerConfigFlags struct {
	config     string
	output     string
	scheduler  admission.SchedulerOptions
	deprecated deprecatedFlags
}

func (f *schedulerConfigFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.config, "config", "", "muster's configuration `FILE` (default: what 'muster config default' prints)")
	flags.StringVarP(&f.output, "output", "o", "", "`FILE` to write to, for images without a shell (default: standard output)")
	flags.StringVar(
		&f.scheduler.URL,
		"url",
		"",
		"`URL` at which kube-scheduler reaches muster (default: from serving.listen, http://127.0.0.1:8888)",
	)
	flags.StringVar(&f.scheduler.Kubeconfig, "kubeconfig", "", "kubeconfig `FILE` of kube-scheduler (default: its in-cluster credentials)")
	flags.BoolVar(&f.scheduler.LeaderElect, "leader-elect", false, "let several kube-schedulers elect a leader")
	flags.Int32Var(
		&f.scheduler.PercentageOfNodes,
		"percentage-of-nodes-to-score",
		0,
		"`PERCENT` of the nodes after which kube-scheduler stops looking for more that fit: 100 for all nodes, -1 for kube-scheduler's own "+
			"choice, by the size of the cluster. By default 1, which is 100 nodes or more, for profiles whose nodes muster ranks, and "+
			"kube-scheduler's choice for those with LoadAware or a scoringStrategy other than LeastAllocated, and with --managed. Always 100 for "+
			"profiles with offload",
	)
	flags.BoolVar(&f.scheduler.Offload, "offload", false, "print as if every profile of muster had offload: true")
	flags.BoolVar(
		&f.scheduler.NoPreemption,
		"no-preemption",
		false,
		"with offload, let kube-scheduler evict no pods: then it leaves NodeResourcesFit to muster as well, and does about half the work for a "+
			"pod",
	)
	flags.BoolVar(
		&f.scheduler.Managed,
		"managed",
		false,
		"have kube-scheduler ask muster only about pods that ask for muster.dev/managed and muster.dev/bound; see 'muster managed-policy'",
	)
	flags.BoolVar(&f.scheduler.Ignorable, "ignorable", false, "have kube-scheduler bind pods without muster while muster is away")
	flags.StringVar(
		&f.scheduler.CAFile,
		"ca-file",
		"",
		"`FILE` of the certificates that muster's certificate must be signed by; required with https",
	)
	flags.StringVar(
		&f.scheduler.CertFile,
		"cert-file",
		"",
		"`FILE` of the certificate that kube-scheduler shows to muster, for a name of serving.tls.allowedClientNames; required with "+
			"serving.tls.clientCAFile or selfManaged.clientSecretName",
	)
	flags.StringVar(&f.scheduler.KeyFile, "key-file", "", "`FILE` of the key of --cert-file")
	f.deprecated.register(flags)
}

// write writes the document to where it was asked for.
func (f *schedulerConfigFlags) write(stdout io.Writer, document []byte) error {
	if f.output == "" {
		_, err := stdout.Write(document)
		return err
	}
	return os.WriteFile(f.output, document, 0o644) //nolint:gosec // kube-scheduler reads it as another user, and it holds no secret
}
