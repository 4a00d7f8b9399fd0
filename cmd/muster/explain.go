package main

import (
	"context"

	"github.com/spf13/cobra"

	"muster.dev/muster/inspect"
)

// exitFitsNowhere tells scripts of a pod that waits and has no node to go to.
const exitFitsNowhere = 3

func explainedTypes() []objectType { return append([]objectType{podType()}, workloadTypes()...) }

func newExplainCommand() *cobra.Command {
	var flags explainFlags
	cmd := &cobra.Command{
		Use:   "explain {TYPE NAME | TYPE/NAME | -f FILE}",
		Short: "Ask where a pod is, or why it waits, and what speaks for and against each node",
		Long: `explain asks a muster about a pod: where it is or why it waits, on how many nodes it fits,
which predicates refuse the others, and which nodes are best for it. A pod is named as
kubectl does, pod/NAME or pod NAME with --namespace, or as NAMESPACE/NAME after its type.

Of what makes pods, as deployment/NAME, job/NAME, jobset/NAME or another of the kinds of
gangs.kinds, it tells which of its pods wait and for what, and explains one of each.

With --filename it asks about a pod that need not exist: would it fit, where, and why not?
The file may have any object with templates of pods: one pod of each is asked about.

A pod is judged on the cluster as it is now, by the profile of its spec.schedulerName. What
kube-scheduler's own plugins say is not part of it, unless the profile runs them.

` + whomItAsks + askedByQuestion + `

The exit status is 0 for a pod that is bound or fits on a node, 3 for one that waits and
fits on none, 1 after a failure and 2 after a wrong command line.`,
		Example: `  # In the cluster that kubectl asks.
  muster explain pod/web-1 -n shop
  kubectl muster explain job/training -n lab --context production

  # In muster's own pod, with every node.
  kubectl -n kube-system exec deployment/muster -- /muster explain pod default/web-1 --nodes --server http://127.0.0.1:8887

  # What is not there, on a cluster without muster.
  kubectl get nodes,pods -A -o yaml | muster explain -f deployment.yaml --snapshot -`,
		Args: func(cmd *cobra.Command, args []string) (err error) {
			flags.about, err = subjectOf(cmd, args, flags.manifest != "", explainedTypes()...)
			return err
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return flags.run(cmd) },
		ValidArgsFunction: func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			return completeSubject(cmd, &flags.remoteFlags, args, begun, flags.namespace, explainedTypes()...)
		},
	}
	flags.remoteFlags.register(cmd.Flags(), "")
	flags.output.register(cmd.Flags(), true)
	flags.question.register(cmd.Flags())
	cmd.Flags().BoolVar(&flags.everyNode, "nodes", false, "show every node, and not only the best")
	return cmd
}

type explainFlags struct {
	remoteFlags
	question
	output    outputFlag
	everyNode bool
}

func (f *explainFlags) run(cmd *cobra.Command) error {
	out, err := f.output.printer(cmd)
	if err != nil {
		return err
	}
	ask, err := f.explain(cmd)
	if err != nil {
		return err
	}
	asked, err := f.client(cmd, "")
	if err != nil {
		return err
	}
	defer asked.stop()
	told, err := ask(cmd.Context(), asked)
	asked.tell(cmd, out.data() || err != nil)
	if err != nil {
		return err
	}
	var answer inspect.Answer = told
	if f.everyNode {
		answer = told.Everything()
	}
	if err := out.print(cmd.OutOrStdout(), answer); err != nil {
		return err
	}
	if !told.Placed() {
		return statusError(exitFitsNowhere)
	}
	return nil
}

// explained tells of one pod or of several.
type explained interface {
	inspect.Answer
	// Placed says that each has a node, or that there is one that it fits on.
	Placed() bool
	// Everything is the same with every node.
	Everything() inspect.Answer
}

// explaining asks about what a command line names.
type explaining func(context.Context, *asked) (explained, error)
