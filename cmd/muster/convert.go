package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/config/document"
)

func newConfigConvertCommand() *cobra.Command {
	var from, to string
	cmd := &cobra.Command{
		Use:   "convert -f FILE",
		Short: "Write a configuration in the version of today",
		Long: `convert reads a configuration of any version, or one of kube-scheduler, and writes
it as one of config.muster.dev/v1alpha2, with what was written and no defaults. A
file that is of this version already is written as it is.

Of config.muster.dev/v1alpha1, everything about scheduling goes into one profile:

  schedulerName, plugins, pluginConfig   stay what they are
  hardPodAffinitySymmetricWeight         hardPodAffinityWeight in the args of
                                         InterPodAffinity
  algorithmSource.provider               DefaultProvider is the default;
                                         ClusterAutoscalerProvider is NodeResourcesFit
                                         with scoringStrategy MostAllocated
  algorithmSource.policy                 the plugins that do what the predicates and
                                         priorities did, with their arguments, and no
                                         others; what muster cannot do is an error

Of kubescheduler.config.k8s.io, v1alpha1 to v1, the profiles are taken: their names,
the plugins that muster has as well, at filter, score and multiPoint, their weights,
and the arguments of these:

  plugins that are gone                  their successors of today, as far as there are:
                                         NodeResourcesMostAllocated is NodeResourcesFit
                                         with scoringStrategy MostAllocated
  weights by default before v1beta3      are written, as the default is another one today
  Coscheduling, at every point           muster takes its place; its arguments become
                                         options of gangs

All else stays with kube-scheduler: a warning names each plugin, at every extension
point, and each argument. Profiles that sort the queue in different ways are an error,
as with kube-scheduler. A Policy of kube-scheduler (apiVersion v1) is taken as
algorithmSource.policy is.

A file of muster's means the same afterwards. One of kube-scheduler's does so for what
filters and scores, and for gangs, where no warning says otherwise; a score that muster
cannot give is an error. Warnings are on standard error. Comments are lost. With an
error nothing is written and the exit status is 1.`,
		Example: `  # See what becomes of a file.
  muster config convert -f old.yaml

  # Write it.
  muster config convert -f old.yaml -o muster.yaml

  # Begin with what kube-scheduler has.
  muster config convert -f /etc/kubernetes/kube-scheduler.yaml -o muster.yaml

  # What runs in a cluster.
  kubectl -n kube-system get configmap muster -o jsonpath='{.data.muster\.yaml}' | muster config convert -f -`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if from == "" {
				return usagef(cmd, "name the file to convert with -f, - for standard input")
			}
			data, err := readFile(from, cmd.InOrStdin())
			if err != nil {
				return err
			}
			document, warnings, err := document.Convert(data)
			if err != nil {
				return config.InSource(from, err)
			}
			for _, warning := range warnings {
				fmt.Fprintf(cmd.ErrOrStderr(), "muster: warning: %s: %s\n", from, warning)
			}
			if to == "" {
				_, err = cmd.OutOrStdout().Write(document)
				return err
			}
			if err := os.WriteFile(to, document, 0o644); err != nil { //nolint:gosec // it holds no secrets
				return fmt.Errorf("write configuration: %w", err)
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&from, "file", "f", "", "`FILE` to convert; - is standard input. Required")
	cmd.Flags().StringVarP(&to, "output", "o", "", "`FILE` to write (default: standard output)")
	return cmd
}
