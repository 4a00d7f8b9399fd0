package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/config/document"
	"muster.dev/muster/server/install"
)

func newInstallCommand() *cobra.Command {
	var flags installFlags
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Print, or apply, all that an installation of muster is",
		Long: `install prints all that muster is in a cluster, with comments: definitions, what muster may do,
admission policies, muster itself and the configuration of kube-scheduler. The objects are
those of the Helm chart. It changes nothing unless it is told to:

  --apply     applies the objects to the cluster. It may be repeated, as after an upgrade
              of muster, and refuses to touch what is somebody else's.
  --write-to  writes the files of a control-plane node, which has muster in a static pod
              beside kube-scheduler: / on the node itself, else a directory to copy from.

Each line that it prints then is something that is done. The ways:

  --kubeadm   on each control-plane node that kubeadm set up. The cluster's own
              kube-scheduler asks muster; its manifest and kubeadm's ConfigMap
              get --config.
  --k3s       on each k3s server, which is then restarted.
  --managed   where nobody can configure kube-scheduler: a second one, beside muster in a
              Deployment, for pods with schedulerName: muster.

` + whichCluster + `
Without --apply the cluster is asked for its version alone, unless --kubernetes-version tells.

'muster uninstall' takes everything back.`,
		Example: `  # What would be installed?
  muster install --managed --image registry.example.com/muster:v0.1.0

  # Install a second kube-scheduler with muster.
  muster install --managed --image registry.example.com/muster:v0.1.0 --apply

  # On a control-plane node of kubeadm, as root.
  muster install --kubeadm --image registry.example.com/muster:v0.1.0 --apply --write-to / --kubeconfig /etc/kubernetes/admin.conf

  # On a k3s server, as root.
  muster install --k3s --image registry.example.com/muster:v0.1.0 --apply --write-to / --kubeconfig /etc/rancher/k3s/k3s.yaml
  systemctl restart k3s`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return flags.run(cmd) },
	}
	flags.register(cmd.Flags())
	return cmd
}

type installFlags struct {
	clusterFlags
	ways          wayFlags
	image, config string
	version       string
	apply         bool
	root          string
}

func (f *installFlags) register(flags *pflag.FlagSet) {
	f.ways.register(flags)
	flags.BoolVar(&f.ways.managed, "managed", false, "for a cluster whose kube-scheduler nobody can configure")
	flags.StringVar(&f.image, "image", "", "muster's `IMAGE`, with its tag; required")
	flags.StringVar(
		&f.config,
		"config",
		"",
		"muster's configuration `FILE` (default: that of the node that --write-to has, else a short one, "+
			"which is printed)",
	)
	flags.BoolVar(&f.apply, "apply", false, "apply the objects, instead of printing everything")
	flags.StringVar(&f.root, "write-to", "", "`DIRECTORY` below which the files of the node are written; with --kubeadm and --k3s")
	flags.StringVar(&f.version, "kubernetes-version", "", "`VERSION` of Kubernetes, as in v1.36.0 (default: the cluster is asked)")
	f.clusterFlags.register(flags)
}

// wayFlags choose how muster is installed.
type wayFlags struct{ kubeadm, k3s, managed bool }

func (f *wayFlags) register(flags *pflag.FlagSet) {
	flags.BoolVar(&f.kubeadm, "kubeadm", false, "for control-plane nodes that kubeadm set up")
	flags.BoolVar(&f.k3s, "k3s", false, "for k3s servers")
}

// chosen lists the ways that were given.
func (f *wayFlags) chosen() (ways []install.Way) {
	for _, way := range []struct {
		given bool
		way   install.Way
	}{{f.kubeadm, install.Kubeadm}, {f.k3s, install.K3s}, {f.managed, install.Managed}} {
		if way.given {
			ways = append(ways, way.way)
		}
	}
	return ways
}

func (f *installFlags) run(cmd *cobra.Command) error {
	chosen := f.ways.chosen()
	if len(chosen) != 1 {
		return usagef(cmd, "exactly one of --kubeadm, --k3s and --managed is required, which say where muster runs; %d are given", len(chosen))
	}
	way := chosen[0]
	if way == install.Managed && f.root != "" {
		return usagef(cmd, "--write-to: %q: --managed has no files of nodes", f.root)
	}
	if err := checkDirectory(cmd, "--write-to", f.root); err != nil {
		return err
	}
	text, err := f.configuration(cmd, way)
	if err != nil {
		return err
	}
	options := install.Options{Way: way, Image: f.image, Config: text, KubernetesVersion: cmp.Or(f.version, anyVersion)}
	installation, err := f.made(cmd, options)
	if err != nil {
		return err
	}
	var connection *rest.Config
	if f.apply || f.version == "" {
		if connection, err = f.connect(cmd, config.Default().ClientConnection, !f.apply); err != nil {
			return f.unknownVersion(err)
		}
	}
	if f.version == "" {
		if options.KubernetesVersion, err = servedVersion(connection); err != nil {
			return f.unknownVersion(err)
		}
		if installation, err = f.made(cmd, options); err != nil {
			return err
		}
	}
	if !f.apply && f.root == "" {
		return installation.Print(cmd.OutOrStdout())
	}
	return f.carryOut(cmd, installation, connection)
}

// anyVersion has all that muster may want: what is wrong with flags is said before a cluster is asked for its own.
const anyVersion = "v1.99.0"

// made makes the installation, or says which flag does not suit.
func (f *installFlags) made(cmd *cobra.Command, options install.Options) (*install.Installation, error) {
	installation, err := install.New(options)
	if err != nil && strings.HasPrefix(err.Error(), "--") {
		return nil, &usageError{command: cmd.CommandPath(), err: err}
	}
	return installation, err
}

// carryOut applies the objects before it writes files: muster may read what it needs when a kubelet starts it.
func (f *installFlags) carryOut(cmd *cobra.Command, installation *install.Installation, connection *rest.Config) error {
	told := func(line string) { fmt.Fprintln(cmd.OutOrStdout(), line) }
	applier := install.Applier{Clock: clock.RealClock{}, Told: told}
	if f.apply {
		client, err := dynamic.NewForConfig(connection)
		if err != nil {
			return err
		}
		applier.Client = client
		if err := applier.Apply(cmd.Context(), installation); err != nil {
			return err
		}
	}
	if f.root != "" {
		if err := installation.Write(f.root, told); err != nil || !f.apply || !f.ways.kubeadm {
			return err
		}
		return applier.TellKubeadm(cmd.Context())
	}
	if !f.ways.managed {
		told("no file of a node was written: --write-to / does that, on each control-plane node")
	}
	return nil
}

// configuration reads muster's, which a node may have already.
func (f *installFlags) configuration(cmd *cobra.Command, way install.Way) ([]byte, error) {
	path := f.config
	if path == "" && f.root != "" {
		path = filepath.Join(f.root, install.ConfigPath(way))
	}
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	switch {
	case f.config == "" && errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	_, warnings, err := document.DecodeFrom(path, text)
	for _, warning := range warnings {
		fmt.Fprintf(cmd.ErrOrStderr(), "muster: warning: %s\n", warning)
	}
	return text, err
}

func (f *installFlags) unknownVersion(err error) error {
	if f.apply {
		return err
	}
	return fmt.Errorf("--kubernetes-version is not given, and the cluster cannot be asked: %w", err)
}

func servedVersion(connection *rest.Config) (string, error) {
	client, err := discovery.NewDiscoveryClientForConfig(connection)
	if err != nil {
		return "", err
	}
	served, err := client.ServerVersion()
	if err != nil {
		return "", err
	}
	return served.GitVersion, nil
}

// checkDirectory checks the root of a node's files, "" for none.
func checkDirectory(cmd *cobra.Command, flag, root string) error {
	if root == "" && !cmd.Flags().Changed(strings.TrimPrefix(flag, "--")) {
		return nil
	}
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return usagef(cmd, "%s: %q is no directory: name / on the node itself, or a directory that there is", flag, root)
	}
	return nil
}
