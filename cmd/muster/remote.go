package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/server/remote"
	"muster.dev/muster/server/remote/forward"
)

// serverVariable names the environment variable that is the default of --server.
const serverVariable = "MUSTER_SERVER"

// Where muster and its rescheduler show themselves, on the machine or in the pod in which they run.
const (
	defaultServer      = "http://127.0.0.1:8887"
	defaultRescheduler = "http://127.0.0.1:8889"
)

// local is where muster and its rescheduler are asked that run beside the command: URLs without a path.
type local struct{ muster, rescheduler string }

// usual is where they listen unless their configuration says otherwise.
func usual() local { return local{muster: defaultServer, rescheduler: defaultRescheduler} }

// whomItAsks is a part of what commands say of themselves that ask a muster.
const whomItAsks = `It asks the first of these that there is:
  a dump of a cluster, with --snapshot
  the URL of --server
  the muster of a cluster, with --kubeconfig, --context or --muster-namespace
  the URL of $` + serverVariable + `
  ` + defaultServer + `, if something listens there, as in muster's own pod
  the muster of the cluster that kubectl would ask

In a cluster it finds muster's pod by the labels of the chart, and forwards a port to it for
as long as it takes. That needs the rights to list pods and to create pods/portforward where
muster runs.`

// remoteFlags say which muster is asked, and how.
type remoteFlags struct {
	remote.Options
	beside                               local
	kubeconfig, context, musterNamespace string
	snapshot                             snapshotFlags
}

// register adds the flags. The shorthand, if it is not "", is for --muster-namespace.
func (f *remoteFlags) register(flags *pflag.FlagSet, shorthand string) {
	f.snapshot.register(flags)
	flags.StringVar(&f.Server, "server", "", "`URL` of the muster to ask (default: $"+serverVariable+", or "+defaultServer+
		", or the muster of the cluster that kubectl would ask)")
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig `FILE` of the cluster whose muster is asked (default: what kubectl reads)")
	flags.StringVar(&f.context, "context", "", "`NAME` of the kubeconfig's context to use (default: the current one)")
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
	// namespace is where objects are sought that are named without one.
	namespace string
	// stop must be called when all is asked.
	stop func()
}

// client is who asks. The rescheduler is at a URL, or where muster is when that is "".
func (f *remoteFlags) client(cmd *cobra.Command, rescheduler string) (*asked, error) {
	inCluster := f.kubeconfig != "" || f.context != "" || f.musterNamespace != ""
	switch {
	case len(f.snapshot.files) > 0 && (f.Options != (remote.Options{}) || inCluster):
		return nil, usagef(cmd, "--snapshot is answered without asking a muster that runs: leave %s out", f.given(cmd))
	case len(f.snapshot.files) > 0:
		return f.snapshot.serve(cmd)
	case f.snapshot.config != "":
		return nil, usagef(cmd, "--config: a muster that runs has a configuration of its own; it is for --snapshot")
	case f.Server != "" && inCluster:
		return nil, usagef(cmd, "--server is asked itself, and not through a cluster: leave either it or %s out", f.given(cmd))
	case inCluster:
		return f.forwarded(cmd, rescheduler)
	}
	beside := strings.TrimPrefix(f.beside.muster, "http://")
	if server := cmp.Or(f.Server, os.Getenv(serverVariable)); server != "" || listens(cmd.Context(), beside) {
		return f.direct(cmd, cmp.Or(server, f.beside.muster), rescheduler)
	}
	found, err := f.forwarded(cmd, rescheduler)
	if errors.Is(err, forward.ErrNoKubeconfig) {
		return f.direct(cmd, f.beside.muster, rescheduler)
	}
	return found, err
}

// given names the flags that say whom to ask.
func (f *remoteFlags) given(cmd *cobra.Command) string {
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

// direct asks URLs.
func (f *remoteFlags) direct(cmd *cobra.Command, server, rescheduler string) (*asked, error) {
	options, source := f.Options, "--server"
	options.Server = server
	if f.Server == "" {
		source = "$" + serverVariable
	}
	muster, err := remote.New(options)
	if err != nil {
		if _, ok := errors.AsType[*remote.URLError](err); ok {
			err = fmt.Errorf("%s: %w", source, err)
		}
		return nil, usagef(cmd, "%w", err)
	}
	options.Server = cmp.Or(rescheduler, f.beside.rescheduler)
	beside, err := remote.New(options)
	if err != nil {
		return nil, usagef(cmd, "--rescheduler: %w", err)
	}
	return &asked{muster: muster, rescheduler: beside, namespace: metav1.NamespaceDefault, stop: func() {}}, nil
}

// forwarded asks the muster of a cluster, and the rescheduler there unless it has a URL.
func (f *remoteFlags) forwarded(cmd *cobra.Command, rescheduler string) (*asked, error) {
	access, err := forward.Load(f.kubeconfig, f.context)
	if err != nil {
		return nil, err
	}
	way, err := forward.New(forward.Options{
		Access: access, Process: forward.Muster(), Namespace: f.musterNamespace, Leads: remote.Leads,
	})
	if err != nil {
		return nil, err
	}
	options := f.Options
	options.Through = way
	muster, err := remote.New(options)
	if err != nil {
		return nil, usagef(cmd, "%w", err)
	}
	other, err := forward.New(forward.Options{Access: access, Process: forward.Rescheduler(), Namespace: f.musterNamespace})
	if err != nil {
		return nil, err
	}
	options = remote.Options{Through: other} // it serves without TLS
	if rescheduler != "" {
		options = f.Options
		options.Server = rescheduler
	}
	beside, err := remote.New(options)
	if err != nil {
		return nil, usagef(cmd, "--rescheduler: %w", err)
	}
	return &asked{muster: muster, rescheduler: beside, namespace: access.Namespace, stop: func() {
		way.Close()
		other.Close()
	}}, nil
}

// dialTime is for an address of this machine.
const dialTime = 200 * time.Millisecond

// listens reports whether something does at an address of this machine.
func listens(ctx context.Context, address string) bool {
	connection, err := (&net.Dialer{Timeout: dialTime}).DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	_ = connection.Close()
	return true
}

// flagValues are the flags of a command by name, with the values that they have.
func flagValues(cmd *cobra.Command) map[string]string {
	values := map[string]string{}
	cmd.Flags().VisitAll(func(flag *pflag.Flag) { values[flag.Name] = flag.Value.String() })
	return values
}
