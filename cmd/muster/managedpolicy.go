package main

import (
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
