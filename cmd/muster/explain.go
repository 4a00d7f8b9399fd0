package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/inspect"
	"muster.dev/muster/server/remote"
)

// exitFitsNowhere tells scripts of a pod that waits and has no node to go to.
const exitFitsNowhere = 3

func newExplainCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "explain",
		Short:   "Ask a muster that runs where a pod is, or why it waits",
		Long:    `explain asks a muster that runs, over HTTP, what it knows of something.`,
		Example: `  muster explain pod default/web-1`,
	}
	cmd.AddCommand(newExplainPodCommand())
	return group(cmd)
}

func newExplainPodCommand() *cobra.Command {
	var flags remoteFlags
	var namespace, output, manifest string
	var everyNode bool
	cmd := &cobra.Command{
		Use:   "pod {NAMESPACE/NAME | -f FILE}",
		Short: "Ask where a pod is, or why it waits, and what speaks for and against each node",
		Long: `explain pod asks a muster that runs, or one that reads a dump of a cluster (--snapshot),
about a pod: where it is or why it waits, on how many nodes it fits, which predicates
refuse the others, and which nodes are best for it. With --filename it asks about a pod
that need not exist: would it fit, where, and why not?

It is judged on the cluster as it is now, by the profile of its spec.schedulerName. What
kube-scheduler's own plugins say is not part of it, unless the profile runs them.

The exit status is 0 for a pod that is bound or fits on a node, 3 for one that waits and
fits on none, 1 after a failure and 2 after a wrong command line.`,
		Example: `  # In muster's own pod.
  kubectl -n kube-system exec deployment/muster -- /muster explain pod default/web-1

  # Through a forwarded port, with every node.
  kubectl -n kube-system port-forward deployment/muster 8887 &
  muster explain pod web-1 -n default --nodes

  # A pod that is not there, on a cluster without muster.
  kubectl get nodes,pods -A -o yaml | muster explain pod -f pod.yaml --snapshot -`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case manifest == "" && len(args) != 1:
				return usagef(cmd, "want one pod, as NAMESPACE/NAME, and not %d", len(args))
			case manifest != "" && len(args) > 0:
				return usagef(cmd, "--filename has the pod to ask about: leave %q out", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			format, err := outputFormat(cmd, output)
			if err != nil {
				return err
			}
			ask, err := question(cmd, args, namespace, manifest)
			if err != nil {
				return err
			}
			client, stop, err := flags.client(cmd)
			if err != nil {
				return err
			}
			defer stop()
			explanation, err := ask(cmd.Context(), client)
			if err != nil {
				return err
			}
			var answer inspect.Answer = explanation
			if everyNode {
				answer = explanation.Everything()
			}
			if err := inspect.Print(cmd.OutOrStdout(), answer, format); err != nil {
				return err
			}
			if !explanation.Placed() {
				return statusError(exitFitsNowhere)
			}
			return nil
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			client, stop, err := flags.client(cmd)
			if err != nil || len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			defer stop()
			waiting, err := client.Waiting(cmd.Context())
			if err != nil {
				return nil, cobra.ShellCompDirectiveError
			}
			return complete(waiting, namespace, begun), cobra.ShellCompDirectiveNoFileComp
		},
	}
	flags.register(cmd.Flags())
	cmd.Flags().
		StringVarP(&namespace, "namespace", "n", "", "`NAMESPACE` of the pod, unless its name has it (default: "+metav1.NamespaceDefault+")")
	cmd.Flags().StringVarP(&manifest, "filename", "f", "", "`FILE` of a pod to ask about instead, in YAML or JSON; - is standard input")
	cmd.Flags().BoolVar(&everyNode, "nodes", false, "show every node, and not only the best")
	registerOutput(cmd.Flags(), &output)
	return cmd
}

// maxManifest is the largest manifest that is read: the API server takes no larger object.
const maxManifest = 3 << 20

// question is what to ask: about a pod by its name, or about one that a manifest has.
func question(
	cmd *cobra.Command, args []string, namespace, manifest string,
) (ask func(context.Context, *remote.Client) (*remote.Explanation, error), err error) {
	if manifest == "" {
		in, name, err := podName(cmd, args[0], namespace)
		return func(ctx context.Context, c *remote.Client) (*remote.Explanation, error) {
			return c.Explain(ctx, in, name)
		}, err
	}
	if namespace != "" {
		return nil, usagef(cmd, "--namespace: the pod of --filename has its own")
	}
	text, err := readManifest(cmd, manifest)
	return func(ctx context.Context, c *remote.Client) (*remote.Explanation, error) {
		return c.ExplainManifest(ctx, text)
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

// complete are the pods that begun may become: of a namespace, if one is given, by name alone.
func complete(pods []string, namespace, begun string) (names []string) {
	for _, pod := range pods {
		if namespace != "" {
			name, found := strings.CutPrefix(pod, namespace+"/")
			if !found {
				continue
			}
			pod = name
		}
		if strings.HasPrefix(pod, begun) {
			names = append(names, pod)
		}
	}
	return names
}

// podName is what NAME or NAMESPACE/NAME and --namespace name together.
func podName(cmd *cobra.Command, named, namespace string) (in, name string, err error) {
	in, name, found := strings.Cut(named, "/")
	if !found {
		in, name = namespace, named
		if in == "" {
			in = metav1.NamespaceDefault
		}
	}
	if in == "" || name == "" || strings.Contains(name, "/") {
		return "", "", usagef(cmd, "%q is no pod: name it as NAMESPACE/NAME", named)
	}
	if namespace != "" && namespace != in {
		return "", "", usagef(cmd, "%q is not in the namespace of --namespace, %s", named, namespace)
	}
	return in, name, nil
}
