package main

import (
	"github.com/spf13/cobra"

	"muster.dev/muster/server/admission"
)

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
