package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/rescheduler/planner"
	"muster.dev/muster/rescheduler/preview"
)

func newReportCommand() *cobra.Command {
	var files []string
	var path, output string
	var cluster clusterFlags
	var limit time.Duration
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Write a page about what muster would have done with a cluster",
		Long: `report looks at a cluster and writes a page in HTML, to be sent around: which of the pods
that wait would get a place, at once or after others have moved, which gangs would start,
which nodes could be emptied, and which are hot. muster need not be installed, and nothing
is changed.

` + whichCluster + `

With --snapshot it reads a dump instead. That should have nodes, pods, and of persistentvolumes, persistentvolumeclaims,
storageclasses, namespaces, services, replicasets, statefulsets, jobs,
poddisruptionbudgets, gangs and nodemetrics what there is. It has what runs in the
cluster and names: look at it before you give it to somebody. The page has the names of
pods and nodes.`,
		Example: `  # Of the cluster that kubectl asks.
  muster report

  # Of a dump.
  kubectl get nodes,pods,replicasets,statefulsets,jobs,poddisruptionbudgets -A -o yaml | muster report --snapshot -`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case len(files) > 0 && cluster.given():
				return usagef(cmd, "--snapshot stands in for the API server: leave --kubeconfig and --context out")
			case limit <= 0:
				return usagef(cmd, "--time: %s is no time", limit)
			case output == "":
				return usagef(cmd, "--output: name a file, or - for standard output")
			}
			cfg, err := loadConfigWarning(cmd, path)
			if err != nil {
				return err
			}
			if !cfg.Rescheduler.Repair.Enabled() {
				cfg.Rescheduler.Repair.Checks = config.UsualRepairs()
			}
			if cfg.Load.Source == config.LoadSourceNone {
				cfg.Load.Source = config.LoadSourceNodeMetric // as where Relieve is enabled
			}
			options := preview.Options{
				Config: cfg, Files: files, Stdin: cmd.InOrStdin(), Clock: clock.RealClock{}, Limits: planner.Limits{Hops: 3, Time: limit},
				Logger: slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn})),
			}
			if len(files) == 0 {
				if options.RESTConfig, err = cluster.connect(cmd, cfg.ClientConnection, true); err != nil {
					return err
				}
			}
			var page bytes.Buffer
			err = preview.Report(cmd.Context(), preview.ReportOptions{Version: buildInfo().Main.Version, Options: options}, &page)
			if err != nil {
				return err
			}
			return writeReport(cmd, output, page.Bytes())
		},
	}
	flags := cmd.Flags()
	cluster.register(flags)
	flags.StringArrayVar(&files, "snapshot", nil,
		"`FILE` to read instead, written by 'kubectl get nodes,pods,... -A -o yaml' or -o json; - is standard input; may be repeated")
	flags.StringVar(&path, "config", "", "configuration `FILE` with profiles and policies (default: what 'muster config default' prints)")
	flags.StringVarP(&output, "output", "o", "muster-report.html", "`FILE` to write; - is standard output")
	flags.DurationVar(&limit, "time", 10*time.Second, "how long to search for each plan")
	return cmd
}

func writeReport(cmd *cobra.Command, output string, page []byte) error {
	if output == "-" {
		_, err := cmd.OutOrStdout().Write(page)
		return err
	}
	if err := os.WriteFile(output, page, 0o644); err != nil { //nolint:gosec // it is to be sent around
		return fmt.Errorf("--output: %w", err)
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s\n", output)
	return err
}
