package main

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/server/remote"
	"muster.dev/muster/server/remote/forward"
	"muster.dev/muster/server/remote/kubeconfig"
)

// askedOnMachine is how a muster is asked that is no pod, or by who may forward no port: on its machine, or in its pod.
const askedOnMachine = "http://127.0.0.1:8887"

// whomItAsks is a part of what commands say of themselves that ask a muster.
const whomItAsks = `It asks the first of these that there is:
  a dump of a cluster, with --snapshot
  the URL of --server
  the muster of the cluster of --kubeconfig, else of $KUBECONFIG, else of ~/.kube/config, else of
  the pod in which the command runs; --context chooses one of several

What is said first names whom it has asked. In a cluster it finds muster's pod by its labels, and
forwards a port to it for as long as it takes. That needs the rights to list pods and to create
pods/portforward where muster runs.`

// remoteFlags say which muster is asked, and how.
type remoteFlags struct {
	remote.Options
	clusterFlags
	musterNamespace string
	snapshot        snapshotFlags
}

// register adds the flags. The shorthand, if it is not "", is for --muster-namespace.
func (f *remoteFlags) register(flags *pflag.FlagSet, shorthand string) {
	f.snapshot.register(flags)
	f.clusterFlags.register(flags)
	flags.StringVar(&f.Server, "server", "", "`URL` of the muster to ask, such as "+askedOnMachine+
		" on its machine or in its pod (default: the muster of the cluster)")
	flags.StringVarP(&f.musterNamespace, "muster-namespace", shorthand, "",
		"`NAMESPACE` in which muster runs (default: any, or "+metav1.NamespaceSystem+" for who may not list pods in all)")
	flags.StringVar(&f.CertificateAuthority, "certificate-authority", "", "`FILE` of what signed its certificate")
	flags.StringVar(&f.ClientCertificate, "client-certificate", "", "`FILE` of the certificate to ask with")
	flags.StringVar(&f.ClientKey, "client-key", "", "`FILE` of its key")
}

// asked is whom a command asks.
type asked struct {
	muster *remote.Client
	// rescheduler is nil when there is none to ask.
	rescheduler *remote.Client
	// ours says that the command runs the muster itself.
	ours bool
	// cluster is the one whose muster is asked, nil for a URL. by is how, where that is not by a forwarded port.
	cluster *kubeconfig.Cluster
	by      string
	// namespace is where objects are sought that are named without one.
	namespace string
	// stop must be called when all is asked.
	stop func()
}

// tell says first whom a command has asked, unless it runs that itself.
func (a *asked) tell(cmd *cobra.Command, data bool) {
	if !a.ours {
		tellAsked(cmd, data, cmp.Or(a.by, a.muster.String()))
	}
}

// client is who asks. The rescheduler is at a URL, or where muster is when that is "".
func (f *remoteFlags) client(cmd *cobra.Command, rescheduler string) (*asked, error) {
	inCluster := f.given() || f.musterNamespace != ""
	switch {
	case len(f.snapshot.files) > 0 && (f.Options != (remote.Options{}) || inCluster):
		return nil, usagef(cmd, "--snapshot is answered without asking a muster that runs: leave %s out", f.flags(cmd))
	case len(f.snapshot.files) > 0:
		return f.snapshot.serve(cmd)
	case f.snapshot.config != "":
		return nil, usagef(cmd, "--config: a muster that runs has a configuration of its own; it is for --snapshot")
	case f.Server != "" && inCluster:
		return nil, usagef(cmd, "--server is asked itself, and not through a cluster: leave either it or %s out", f.flags(cmd))
	case f.Server != "":
		return f.direct(cmd, rescheduler)
	default:
		return f.forwarded(cmd, rescheduler)
	}
}

// flags names the flags that say whom to ask.
func (f *remoteFlags) flags(cmd *cobra.Command) string {
	names := ""
	for _, name := range []string{
		"kubeconfig", "context", "muster-namespace", "server", "certificate-authority", "client-certificate", "client-key",
	} {
		if cmd.Flags().Changed(name) && (name != "server" || len(f.snapshot.files) > 0) {
			if names != "" {
				names += ", "
			}
			names += "--" + name
		}
	}
	return names
}

// direct asks URLs. A rescheduler that has none is not asked.
func (f *remoteFlags) direct(cmd *cobra.Command, rescheduler string) (*asked, error) {
	muster, err := remote.New(f.Options)
	if err != nil {
		if _, ok := errors.AsType[*remote.URLError](err); ok {
			err = fmt.Errorf("--server: %w", err)
		}
		return nil, usagef(cmd, "%w", err)
	}
	beside, err := f.reschedulerAt(cmd, rescheduler)
	return &asked{muster: muster, rescheduler: beside, namespace: metav1.NamespaceDefault, stop: func() {}}, err
}

// reschedulerAt asks the rescheduler at a URL, nil for "".
func (f *remoteFlags) reschedulerAt(cmd *cobra.Command, url string) (*remote.Client, error) {
	if url == "" {
		return nil, nil
	}
	options := f.Options
	options.Server, options.Through = url, nil
	asking, err := remote.New(options)
	if err != nil {
		return nil, usagef(cmd, "--rescheduler: %w", err)
	}
	return asking, nil
}

// forwarded asks the muster of a cluster, and the rescheduler there unless it has a URL.
func (f *remoteFlags) forwarded(cmd *cobra.Command, rescheduler string) (*asked, error) {
	other, err := f.reschedulerAt(cmd, rescheduler)
	if err != nil {
		return nil, err
	}
	cluster, err := f.find()
	if _, none := errors.AsType[*kubeconfig.AbsenceError](err); none {
		return nil, fmt.Errorf("%w, or a muster by --server URL", err)
	}
	if err != nil {
		return nil, err
	}
	ways := []*forward.Forward{}
	through := func(options remote.Options, process forward.Options) (*remote.Client, error) {
		process.Cluster, process.Namespace = cluster, f.musterNamespace
		way, err := forward.New(process)
		if err != nil {
			return nil, err
		}
		ways = append(ways, way)
		options.Through = way
		asking, err := remote.New(options)
		if err != nil {
			return nil, usagef(cmd, "%w", err)
		}
		return asking, nil
	}
	muster, err := through(f.Options, forward.Options{Process: forward.Muster(), Leads: remote.Leads})
	if err != nil {
		return nil, err
	}
	if other == nil { // it serves without TLS
		if other, err = through(remote.Options{}, forward.Options{Process: forward.Rescheduler()}); err != nil {
			return nil, err
		}
	}
	return &asked{muster: muster, rescheduler: other, cluster: cluster, namespace: cluster.Namespace, stop: func() {
		for _, way := range ways {
			way.Close()
		}
	}}, nil
}

// flagValues are the flags of a command by name, with the values that they have.
func flagValues(cmd *cobra.Command) map[string]string {
	values := map[string]string{}
	cmd.Flags().VisitAll(func(flag *pflag.Flag) { values[flag.Name] = flag.Value.String() })
	return values
}
