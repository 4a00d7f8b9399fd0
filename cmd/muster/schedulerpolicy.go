package main

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"muster.dev/muster/server/admission"
)

func newSchedulerPolicyCommand() *cobra.Command {
	var path string
	var managed bool
	cmd := &cobra.Command{
		Use:   "scheduler-policy",
		Short: "Print the admission policy that sets the schedulerName of pods",
		Long: `scheduler-policy prints a MutatingAdmissionPolicy and its binding, by which the API
server of Kubernetes 1.36 and newer sets the schedulerName of pods when they are
created, so that nobody has to write it: that of a profile, in namespaces that are
labelled muster.dev/scheduler=NAME with it.

A pod that names another scheduler than default-scheduler keeps it. So do pods of
DaemonSets, pods with a priority class of the system, and muster's own. Members of
gangs are gated as well, if the configuration says so, and with --managed pods are
managed, as by 'muster managed-policy': these policies may be asked before this one.

The policy knows the schedulerName of each profile: print it again when a profile is
added or renamed. Pods that there are stay with the scheduler that they have.`,
		Example: `  muster scheduler-policy --config muster.yaml | kubectl apply --server-side -f -
  kubectl label namespace training muster.dev/scheduler=muster`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := loadConfigWarning(cmd, path)
			if err != nil {
				return err
			}
			schedulers := admission.Assignable(cfg)
			if len(schedulers) == 0 {
				return errors.New("profiles: none has a schedulerName of its own that kube-scheduler serves with muster: no policy is needed")
			}
			var gated []string
			if cfg.Serving.WebhookListen == "" {
				members, _ := admission.Gated(cfg)
				gated = slices.DeleteFunc(members, func(name string) bool { return !slices.Contains(schedulers, name) })
			}
			return printPolicies(cmd, admission.SchedulerPolicy(schedulers, gated, cfg.Gangs.Kinds, managed))
		},
	}
	cmd.Flags().BoolVar(&managed, "managed", false, "make pods managed as well; see 'muster managed-policy'")
	cmd.Flags().StringVar(&path, "config", "", "muster's configuration `FILE` (default: what 'muster config default' prints)")
	return cmd
}
