package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"muster.dev/muster/api/config"
	"muster.dev/muster/server/remote/kubeconfig"
)

// whichCluster is a part of what commands say of themselves that ask a cluster.
const whichCluster = `The cluster is that of --kubeconfig, else of $KUBECONFIG, else of ~/.kube/config, else of the
pod in which the command runs; --context chooses one of several. What is said first names it.`

// clusterFlags name the cluster that a command asks: all commands find it by one rule.
type clusterFlags struct{ kubeconfig, context string }

func (f *clusterFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.kubeconfig, "kubeconfig", "",
		"kubeconfig `FILE` of the cluster to ask (default: $KUBECONFIG, ~/.kube/config, or the cluster of the pod)")
	flags.StringVar(&f.context, "context", "", "`NAME` of the kubeconfig's context to use (default: the current one)")
}

// given reports whether one of them is.
func (f *clusterFlags) given() bool { return f.kubeconfig != "" || f.context != "" }

func (f *clusterFlags) find() (*kubeconfig.Cluster, error) {
	return kubeconfig.Find(f.kubeconfig, f.context)
}

// connect returns the way to the API server of the cluster, at the rate of a configuration, and says first to whom it leads.
func (f *clusterFlags) connect(cmd *cobra.Command, connection config.ClientConnection, data bool) (*rest.Config, error) {
	found, err := f.find()
	if err != nil {
		return nil, err
	}
	found.Config.QPS, found.Config.Burst = connection.QPS, int(connection.Burst())
	tellAsked(cmd, data, found.Config.Host+", "+found.String())
	return found.Config, nil
}

// tellAsked says first whom a command asks: beside the answer where programs read that.
func tellAsked(cmd *cobra.Command, data bool, whom string) {
	if data {
		fmt.Fprintf(cmd.ErrOrStderr(), "asked %s\n", whom)
		return
	}
	fmt.Fprintf(cmd.OutOrStdout(), "asked %s\n\n", whom)
}
