package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"muster.dev/muster/inspect"
	"muster.dev/muster/server/remote"
)

// exitFitsNowhere tells scripts of a pod that waits and has no node to go to.
const exitFitsNowhere = 3

func newExplainCommand(beside local) *cobra.Command {
	flags := explainFlags{remoteFlags: remoteFlags{beside: beside}}
	cmd := &cobra.Command{
		Use:   "explain {pod NAME | pod/NAME | pod -f FILE}",
		Short: "Ask where a pod is, or why it waits, and what speaks for and against each node",
		Long: `explain asks a muster about a pod: where it is or why it waits, on how many nodes it fits,
which predicates refuse the others, and which nodes are best for it. With --filename it
asks about a pod that need not exist: would it fit, where, and why not? A pod is named as
kubectl does, pod/NAME or pod NAME with --namespace, or as NAMESPACE/NAME after its type.

It is judged on the cluster as it is now, by the profile of its spec.schedulerName. What
kube-scheduler's own plugins say is not part of it, unless the profile runs them.

` + whomItAsks + `

The exit status is 0 for a pod that is bound or fits on a node, 3 for one that waits and
fits on none, 1 after a failure and 2 after a wrong command line.`,
		Example: `  # In the cluster that kubectl asks.
  muster explain pod/web-1 -n shop
  kubectl muster explain pod/web-1 -n shop --context production

  # In muster's own pod, with every node.
  kubectl -n kube-system exec deployment/muster -- /muster explain pod default/web-1 --nodes

  # A pod that is not there, on a cluster without muster.
  kubectl get nodes,pods -A -o yaml | muster explain pod -f pod.yaml --snapshot -`,
		Args: func(cmd *cobra.Command, args []string) (err error) {
			flags.about, err = subjectOf(cmd, args, flags.manifest != "", podType())
			return err
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return flags.run(cmd) },
		ValidArgsFunction: func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			return completeSubject(cmd, &flags.remoteFlags, args, begun, flags.namespace, podType())
		},
	}
	flags.register(cmd.Flags(), "")
	flags.output.register(cmd.Flags(), true)
	registerNamespace(cmd.Flags(), &flags.namespace, "the pod")
	cmd.Flags().
		StringVarP(&flags.manifest, "filename", "f", "", "`FILE` of a pod to ask about instead, in YAML or JSON; - is standard input")
	cmd.Flags().BoolVar(&flags.everyNode, "nodes", false, "show every node, and not only the best")
	return cmd
}

type explainFlags struct {
	remoteFlags
	about               subject
	output              outputFlag
	namespace, manifest string
	everyNode           bool
}

func (f *explainFlags) run(cmd *cobra.Command) error {
	out, err := f.output.printer(cmd)
	if err != nil {
		return err
	}
	ask, err := f.question(cmd)
	if err != nil {
		return err
	}
	asked, err := f.client(cmd, "")
	if err != nil {
		return err
	}
	defer asked.stop()
	explanation, err := ask(cmd.Context(), asked)
	if err != nil {
		return err
	}
	return printExplanation(cmd, explanation, out, f.everyNode)
}

// printExplanation prints it. Whether there is a node for the pod is the exit status.
func printExplanation(cmd *cobra.Command, explanation *remote.Explanation, out printer, everyNode bool) error {
	var answer inspect.Answer = explanation
	if everyNode {
		answer = explanation.Everything()
	}
	if err := out.print(cmd.OutOrStdout(), answer); err != nil {
		return err
	}
	if !explanation.Placed() {
		return statusError(exitFitsNowhere)
	}
	return nil
}

// maxManifest is the largest manifest that is read: the API server takes no larger object.
const maxManifest = 3 << 20

// question asks about a pod by its name, or about one in a manifest.
func (f *explainFlags) question(cmd *cobra.Command) (ask func(context.Context, *asked) (*remote.Explanation, error), err error) {
	if f.manifest == "" {
		name, err := f.about.in(cmd, f.namespace)
		return func(ctx context.Context, a *asked) (*remote.Explanation, error) {
			return a.muster.Explain(ctx, name.in(a.namespace), name.name)
		}, err
	}
	if f.namespace != "" {
		return nil, usagef(cmd, "--namespace: the pod of --filename has its own")
	}
	text, err := readManifest(cmd, f.manifest)
	return func(ctx context.Context, a *asked) (*remote.Explanation, error) {
		return a.muster.ExplainManifest(ctx, text)
	}, err
}

func readManifest(cmd *cobra.Command, path string) ([]byte, error) {
	from := cmd.InOrStdin()
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("--filename: %w", err)
		}
		defer file.Close()
		from = file
	}
	text, err := io.ReadAll(io.LimitReader(from, maxManifest+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("--filename: %w", err)
	case len(text) > maxManifest:
		return nil, fmt.Errorf("--filename: %s has more than %d bytes", path, maxManifest)
	}
	return text, nil
}
