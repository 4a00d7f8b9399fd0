package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"muster.dev/muster/api/config"
	"muster.dev/muster/server/admission"
)

const gatePolicyHeader = `# Has the API server gate the members of gangs when they are created. Printed by 'muster gate-policy'.
# muster lifts the gates.
`

func newGatePolicyCommand() *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:   "gate-policy",
		Short: "Print the admission policy that gates the members of gangs",
		Long: `gate-policy prints a MutatingAdmissionPolicy and its binding, by which the API server
of Kubernetes 1.36 and newer puts a scheduling gate on the members of gangs when they
are created (gangs.gatedBy: Policy). muster lifts the gates, when gangs.gates says.

The policy is for the pods of the schedulerName of each profile: print it again when a
profile is added or renamed. A pod that it does not gate starts as it would without.

Delete it, and let muster lift what gates there are (gangs.gates: Never), before muster
goes: nobody else lifts them.`,
		Example: `  muster gate-policy --config muster.yaml | kubectl apply --server-side -f -`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, warnings, err := loadConfig(path)
			if err != nil {
				return err
			}
			if cfg.Gangs.Gates == config.GatesNever {
				warnings = append(warnings, `gangs.gates: "Never" has muster lift at once the gates that the policy adds`)
			}
			for _, warning := range warnings {
				fmt.Fprintf(cmd.ErrOrStderr(), "muster: warning: %s\n", warning)
			}
			policy, binding := admission.GatePolicy(schedulerNames(cfg))
			return printDocuments(cmd.OutOrStdout(), gatePolicyHeader, policy, binding)
		},
	}
	cmd.Flags().StringVar(&path, "config", "", "muster's configuration `FILE` (default: what 'muster config default' prints)")
	return cmd
}
