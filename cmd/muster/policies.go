package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"muster.dev/muster/api/config"
	"muster.dev/muster/server/admission"
)

func newManagedPolicyCommand() *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:   "managed-policy",
		Short: "Print the admission policy that makes pods managed",
		Long: `managed-policy prints a MutatingAdmissionPolicy and its bindings, by which the API
server of Kubernetes 1.36 and newer has pods ask for muster.dev/managed and
muster.dev/bound when they are created: members of gangs, and all pods of namespaces
that are labelled muster.dev/managed=true. With 'muster scheduler-config --managed'
kube-scheduler asks muster about these pods, and about no others.

The resources cost nothing and no node offers them. The policy is for the pods of the
schedulerName of each profile: print it again when a profile is added or renamed.

Print kube-scheduler's configuration without --managed before you delete the policy.
Pods that ask for the resources stay pending in a kube-scheduler that does not know
them.`,
		Example: `  muster managed-policy --config muster.yaml | kubectl apply --server-side -f -`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := loadConfigWarning(cmd, path)
			if err != nil {
				return err
			}
			return printPolicies(cmd, admission.ManagedPolicy(schedulerNames(cfg)))
		},
	}
	cmd.Flags().StringVar(&path, "config", "", "muster's configuration `FILE` (default: what 'muster config default' prints)")
	return cmd
}

// schedulerNames lists the names that muster has profiles for.
func schedulerNames(cfg *config.Configuration) []string {
	var names []string
	for _, profile := range cfg.Profiles {
		names = append(names, profile.SchedulerName)
	}
	return names
}

// printPolicies prints the policies of a command.
func printPolicies(cmd *cobra.Command, policies ...string) error {
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "# Printed by '%s'.\n%s", cmd.CommandPath(), strings.Join(policies, "---\n"))
	return err
}

func newAccountPolicyCommand() *cobra.Command {
	var name, user, rescheduler string
	var scheduler bool
	cmd := &cobra.Command{
		Use:   "account-policy",
		Short: "Print the admission policy that bounds what muster's account may change",
		Long: `account-policy prints a ValidatingAdmissionPolicy and its binding, by which the API server
of Kubernetes 1.30 and newer refuses muster's account what muster never does, though its
role lets it: to change the image of a pod, its labels or the annotations of others, to
take off other gates than its own, or to delete a pod at once. A role knows resources, and
not fields. The policy is about one user, and looks at nobody else's writes.

A second one keeps muster.dev/committed, by which muster records on a PodGroup that a gang was
let go, from being forged: only who may write the status of all pods may write it.

With --rescheduler-user there is one for 'muster reschedule', too. If both are one user,
or a kube-scheduler is as well (--with-scheduler), one policy lets each do what it does.`,
		Example: `  # For a muster and a rescheduler with accounts of their own.
  muster account-policy --rescheduler-user system:serviceaccount:kube-system:muster-rescheduler | kubectl apply --server-side -f -

  # For a muster that has kube-scheduler's kubeconfig.
  muster account-policy --user system:kube-scheduler --with-scheduler | kubectl apply --server-side -f -`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if user == "" {
				return usagef(cmd, "--user: must be the name of a user, such as %s", defaultUser)
			}
			if err := checkName(cmd, name); err != nil {
				return err
			}
			muster := admission.Account{
				Name:        name + "-account",
				User:        user,
				Muster:      true,
				Rescheduler: user == rescheduler,
				Scheduler:   scheduler,
			}
			policies := []string{muster.Policy(), admission.RecordPolicy(name + "-records")}
			if rescheduler != "" && rescheduler != user {
				other := admission.Account{Name: name + "-rescheduler-account", User: rescheduler, Rescheduler: true}
				policies = append(policies, other.Policy())
			}
			return printPolicies(cmd, policies...)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&name, "name", "muster", "`NAME` that the policies' names begin with")
	flags.StringVar(&user, "user", defaultUser, "`USER` that 'muster serve' is for the API server")
	flags.StringVar(&rescheduler, "rescheduler-user", "", "`USER` that 'muster reschedule' is, if it runs")
	flags.BoolVar(&scheduler, "with-scheduler", false, "a kube-scheduler is the same user as 'muster serve'")
	return cmd
}

const defaultUser = "system:serviceaccount:kube-system:muster"

func newGatePolicyCommand() *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:   "gate-policy",
		Short: "Print the admission policies that gate pods when they are created",
		Long: `gate-policy prints a MutatingAdmissionPolicy and its binding, by which the API server
of Kubernetes 1.36 and newer puts a scheduling gate on the members of gangs when they
are created, in profiles with gates: UntilMembers or UntilPlace. muster lifts the gates.

With a profile of gates: UntilPlace there is a second policy: it gates pods of no group that
are opted in by the label muster.dev/ahead=true, their own or, if they have none, that of
their namespace. It leaves alone pods of DaemonSets, of the priority classes of the system,
and with a node.

The policies name the schedulerName of each such profile, and how pods of gangs.kinds are known:
print them again when a profile is added, renamed, or gated otherwise, or when kinds change. A
pod that is not gated starts as it would without.

Delete them before muster goes, and then lift what gates there are: 'muster release'.`,
		Example: `  muster gate-policy --config muster.yaml | kubectl apply --server-side -f -`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, warnings, err := loadConfig(path)
			if err != nil {
				return err
			}
			members, pods := admission.Gated(cfg)
			if len(members) == 0 {
				return errors.New("profiles: none has gates: UntilMembers or UntilPlace: " +
					"no policy is needed, and those of a former configuration are to be deleted")
			}
			for _, warning := range warnings {
				fmt.Fprintf(cmd.ErrOrStderr(), "muster: warning: %s\n", warning)
			}
			return printPolicies(cmd, admission.GatePolicies(members, pods, cfg.Gangs.Kinds))
		},
	}
	cmd.Flags().StringVar(&path, "config", "", "muster's configuration `FILE` (default: what 'muster config default' prints)")
	return cmd
}

func newSchedulerPolicyCommand() *cobra.Command {
	var path string
	var managed bool
	cmd := &cobra.Command{
		Use:   "scheduler-policy",
		Short: "Print the admission policies that set the schedulerName of pods",
		Long: `scheduler-policy prints MutatingAdmissionPolicies and their bindings, by which the API
server of Kubernetes 1.36 and newer sets the schedulerName of pods when they are
created, so that nobody has to write it: that of a profile, in namespaces that are
labelled muster.dev/scheduler=NAME with it, and in others that of the profile that
is the default for their kind (profiles[].defaultFor), as for JobSets.

By kind nothing is set in kube-system and in muster's own namespace. A namespace
whose label names no profile, as muster.dev/scheduler=none, is left alone.

A pod that names another scheduler than default-scheduler keeps it. So do pods of
DaemonSets, pods with a priority class of the system, and muster's own. Members of
gangs are gated as well, if the configuration says so, and with --managed pods are
managed, as by 'muster managed-policy': these policies may be asked before this one.

The policies know the schedulerName of each profile and its kinds: print them again
when one is added, renamed or gated otherwise. Pods that there are stay with the
scheduler that they have.`,
		Example: `  muster scheduler-policy --config muster.yaml | kubectl apply --server-side -f -
  kubectl label namespace training muster.dev/scheduler=muster`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := loadConfigWarning(cmd, path)
			if err != nil {
				return err
			}
			if len(admission.Assignable(cfg)) == 0 {
				return errors.New("profiles: none has a schedulerName of its own: no policy is needed")
			}
			return printPolicies(cmd, admission.SchedulerPolicy(cfg, managed))
		},
	}
	cmd.Flags().BoolVar(&managed, "managed", false, "make pods managed as well; see 'muster managed-policy'")
	cmd.Flags().StringVar(&path, "config", "", "muster's configuration `FILE` (default: what 'muster config default' prints)")
	return cmd
}
