package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/server/install"
	"muster.dev/muster/server/uninstall"
)

func newUninstallCommand() *cobra.Command {
	var flags uninstallFlags
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "List, or remove, all that muster has left in a cluster",
		Long: `uninstall finds what there is of muster in a cluster, in whatever way it was installed, and
with --yes removes it: admission policies and webhooks; the objects of its installation;
what it wrote on pods, PodGroups and nodes; labels of namespaces by which they were opted
in; Leases and other records; and its definitions. Gates of pods are lifted as 'muster
release' does it. What is others' stays, and what is kept is told with the reason: objects of
a release of Helm, which Helm uninstalls, and definitions that people have made
objects of.

On a control-plane node of kubeadm or k3s, --remove-from takes back what 'muster install
--write-to' has written: / on the node itself. kube-scheduler goes on without muster there,
on k3s when that is restarted. The cluster is cleaned when no muster runs any more, which
is waited for: with several nodes, when the command runs on the last one.

Pods whose schedulerName only muster's kube-scheduler knows stay pending.

` + whichCluster + `
It takes the rights of an administrator. The exit status is 1 if something is left
that was to be removed.`,
		Example: `  # What is there of muster?
  muster uninstall --dry-run

  # Remove it.
  muster uninstall --yes

  # On a control-plane node of kubeadm, as root.
  muster uninstall --yes --kubeadm --remove-from / --kubeconfig /etc/kubernetes/admin.conf`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return flags.run(cmd) },
	}
	set := cmd.Flags()
	set.BoolVar(&flags.dryRun, "dry-run", false, "list what there is, and remove nothing; this is so without --yes, too")
	set.BoolVar(&flags.yes, "yes", false, "remove it")
	set.BoolVar(&flags.withObjects, "with-objects", false, "remove definitions with the PodGroups and NodeMetrics that people have made")
	flags.ways.register(set)
	set.StringVar(&flags.root, "remove-from", "", "`DIRECTORY` below which the files of a node are removed; with --kubeadm or --k3s")
	flags.register(set)
	return cmd
}

type uninstallFlags struct {
	clusterFlags
	ways                     wayFlags
	dryRun, yes, withObjects bool
	root                     string
}

func (f *uninstallFlags) run(cmd *cobra.Command) error {
	chosen, err := f.check(cmd)
	if err != nil {
		return err
	}
	cluster, err := f.cluster(cmd)
	if err != nil {
		return err
	}
	ofNode, err := f.ofNode(cmd, chosen)
	if err != nil {
		return err
	}
	if f.yes {
		found, err := cluster.Find(cmd.Context())
		if err != nil {
			return err
		}
		if err := cluster.Remove(cmd.Context(), found, func(line string) { fmt.Fprintln(cmd.OutOrStdout(), line) }); err != nil {
			return err
		}
	}
	left, err := f.list(cmd, cluster)
	if err != nil || left+ofNode == 0 || f.dryRun {
		return err
	}
	if !f.yes {
		fmt.Fprintln(cmd.OutOrStdout(), "nothing was removed: --yes removes it")
	}
	return statusError(exitFailure)
}

// check checks the flags, and returns the way whose files are removed, if any is.
func (f *uninstallFlags) check(cmd *cobra.Command) (way install.Way, err error) {
	chosen := f.ways.chosen()
	switch {
	case f.dryRun && f.yes:
		return "", usagef(cmd, "--dry-run and --yes exclude each other")
	case len(chosen) > 1:
		return "", usagef(cmd, "--kubeadm and --k3s exclude each other: they say whose files --remove-from removes")
	case f.root != "" && len(chosen) == 0:
		return "", usagef(cmd, "--remove-from: %q: add --kubeadm or --k3s, which say where the files are", f.root)
	case f.root == "" && len(chosen) > 0 && !cmd.Flags().Changed("remove-from"):
		return "", usagef(cmd, "--%s: --remove-from is missing: / on the node itself", chosen[0])
	}
	if len(chosen) > 0 {
		way = chosen[0]
	}
	return way, checkDirectory(cmd, "--remove-from", f.root)
}

func (f *uninstallFlags) cluster(cmd *cobra.Command) (*uninstall.Cluster, error) {
	connection, err := f.connect(cmd, config.Default().ClientConnection, false)
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(connection)
	if err != nil {
		return nil, err
	}
	objects, err := dynamic.NewForConfig(connection)
	return &uninstall.Cluster{Client: client, Dynamic: objects, Clock: clock.RealClock{}, WithObjects: f.withObjects}, err
}

// ofNode takes the files of a node away, or lists them and returns how many there are.
func (f *uninstallFlags) ofNode(cmd *cobra.Command, way install.Way) (left int, err error) {
	if f.root == "" {
		return 0, nil
	}
	_, err = install.Remove(way, f.root, !f.yes, func(what string) {
		if f.yes {
			what = "removed " + what
		} else {
			left++
		}
		fmt.Fprintln(cmd.OutOrStdout(), what)
	})
	return left, err
}

// list prints what there is in the cluster, and returns how much.
func (f *uninstallFlags) list(cmd *cobra.Command, cluster *uninstall.Cluster) (int, error) {
	found, err := cluster.Find(cmd.Context())
	if err != nil {
		return 0, err
	}
	for _, leftover := range found {
		line := leftover.What
		if leftover.Kept != "" {
			line += "  (kept: " + leftover.Kept + ")"
		}
		fmt.Fprintln(cmd.OutOrStdout(), line)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%d left of muster in the cluster\n", len(found))
	return len(found), nil
}
