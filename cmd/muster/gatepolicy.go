package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"muster.dev/muster/server/admission"
)

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
