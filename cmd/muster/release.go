package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/server/release"
)

func newReleaseCommand() *cobra.Command {
	var flags releaseFlags
	cmd := &cobra.Command{
		Use:   "release",
		Short: "Lift muster's scheduling gates from all pods",
		Long: `release takes muster's gates, muster.dev/gang and muster.dev/ahead, off all pods that have
one, so that kube-scheduler schedules them without muster: after muster was uninstalled,
or while it is away. Gates of others stay. It asks nobody but the API server, and may
be repeated. It needs the rights to list and to patch pods.

Placeholder pods, by which muster keeps room for plans of its rescheduler, are deleted:
they are never to run. That needs the right to delete pods in their namespace.

Each pod is printed whose gates were lifted. Those whose gates could not be are named at
the end, and the exit status is 1 then.

Pods that are created go on to be gated as long as the policies of 'muster gate-policy',
or the webhook, are there: delete those first if muster is not to come back.

With --when-away release first watches the Lease by which muster's replicas elect their
leader, for as long as it is told, and ends if somebody writes to it. It compares no clocks
of machines, and suits a CronJob. It looks at the Lease again before each hundred pods,
and leaves the others to a muster that is back. It needs the right to get the Lease, and
to be longer than leaderElection.leaseDuration.

` + whichCluster + `
Where the API server is away or overloaded, it tries for a minute.`,
		Example: `  # Which pods wait for muster?
  muster release --dry-run

  # Let all of them go.
  muster release --context production

  # Let them go if muster has been away for two minutes.
  muster release --config muster.yaml --when-away 2m`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if flags.namespace != "" {
				if wrong := validation.IsDNS1123Label(flags.namespace); len(wrong) > 0 {
					return usagef(cmd, "--namespace: %q is no name of a namespace: %s", flags.namespace, wrong[0])
				}
			}
			cfg, _, err := loadConfig(flags.config)
			if err != nil {
				return err
			}
			if flags.whenAway < 0 {
				return usagef(cmd, "--when-away: must not be negative: %s", flags.whenAway)
			}
			if flags.whenAway > 0 && !cfg.LeaderElection.LeaderElect {
				return usagef(cmd, "--when-away: leaderElection.leaderElect is false in the configuration: there is no Lease to tell by")
			}
			client, err := flags.client(cmd, cfg)
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			var mayGo func(context.Context) error
			if flags.whenAway > 0 {
				absence, err := flags.away(cmd.Context(), client, cfg.LeaderElection)
				if errors.Is(err, release.ErrBack) {
					_, err := fmt.Fprintln(out, "muster leads: no gate is lifted")
					return err
				}
				if err != nil {
					return err
				}
				mayGo = absence.Lasts
			}
			return flags.release(cmd.Context(), client, mayGo, out, cmd.ErrOrStderr())
		},
	}
	set := cmd.Flags()
	flags.register(set)
	set.StringVar(&flags.config, "config", "",
		"muster's configuration `FILE`, which names the Lease (default: what 'muster config default' prints)")
	set.StringVarP(&flags.namespace, "namespace", "n", "", "`NAMESPACE` whose pods are released (default: all)")
	set.BoolVar(&flags.dryRun, "dry-run", false, "have the API server check the writes, and make none")
	set.DurationVar(&flags.whenAway, "when-away", 0, "lift gates only if nobody writes to muster's Lease for this `DURATION`")
	return cmd
}

type releaseFlags struct {
	clusterFlags
	config, namespace string
	dryRun            bool
	whenAway          time.Duration
}

func (f *releaseFlags) client(cmd *cobra.Command, cfg *config.Configuration) (*kubernetes.Clientset, error) {
	connection, err := f.connect(cmd, cfg.ClientConnection, true)
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(connection)
}

// away waits for as long as it was told to, and fails with [release.ErrBack] if somebody leads.
func (f *releaseFlags) away(ctx context.Context, client kubernetes.Interface, election config.LeaderElection) (*release.Absence, error) {
	lease := release.Lease{
		Leases: client.CoordinationV1().Leases(election.ResourceNamespace), Name: election.ResourceName, Clock: clock.RealClock{},
	}
	absence, err := lease.Away(ctx, f.whenAway)
	if err != nil {
		return nil, fmt.Errorf("--when-away: Lease %s/%s: %w", election.ResourceNamespace, election.ResourceName, err)
	}
	return absence, nil
}

func (f *releaseFlags) release(
	ctx context.Context, client kubernetes.Interface, mayGo func(context.Context) error, stdout, stderr io.Writer,
) error {
	lifted, failed, err := release.Run(ctx, release.Options{
		Pods: client.CoreV1(), Namespace: f.namespace, DryRun: f.dryRun, Clock: clock.RealClock{}, MayGo: mayGo,
		Told: func(pod types.NamespacedName, gates []string, err error) {
			if err != nil {
				fmt.Fprintf(stderr, "muster: %s: %v\n", pod, err)
				return
			}
			fmt.Fprintf(stdout, "%s  %s\n", pod, strings.Join(gates, " "))
		},
	})
	said := "%d pods released\n"
	if f.dryRun {
		said = "%d pods would be released\n"
	}
	fmt.Fprintf(stdout, said, lifted)
	if errors.Is(err, release.ErrBack) {
		fmt.Fprintln(stdout, "muster leads again: the others are left to it")
		err = nil
	}
	if err == nil && failed > 0 {
		err = fmt.Errorf("%d pods were not released", failed)
	}
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted before all pods were looked at")
	}
	return err
}
