package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/api/config"
	"muster.dev/muster/server/admission"
)

const managedPolicyHeader = `# Has the API server make pods managed when they are created. Printed by 'muster managed-policy'.
# It is of use with 'muster scheduler-config --managed' only.
`

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
			policy, bindings := admission.ManagedPolicy(schedulerNames(cfg))
			documents := []any{policy}
			for _, binding := range bindings {
				documents = append(documents, binding)
			}
			return printDocuments(cmd.OutOrStdout(), managedPolicyHeader, documents...)
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

// printDocuments writes objects as YAML documents below a comment, without their status, which is the API server's.
func printDocuments(out io.Writer, header string, documents ...any) error {
	for i, document := range documents {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(document)
		if err != nil {
			return fmt.Errorf("encode %T: %w", document, err)
		}
		delete(fields, "status")
		encoded, err := yaml.Marshal(fields)
		if err != nil {
			return fmt.Errorf("encode %T: %w", document, err)
		}
		above := "---\n"
		if i == 0 {
			above = header
		}
		if _, err := fmt.Fprintf(out, "%s%s", above, encoded); err != nil {
			return err
		}
	}
	return nil
}
