package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"muster.dev/muster/api/config"
	"muster.dev/muster/server"
	"muster.dev/muster/server/app"
	"muster.dev/muster/server/remote"
)

// snapshotFlags have a command ask a muster that it runs itself, for as long as it takes, about dumps of a cluster.
type snapshotFlags struct {
	files  []string
	config string
}

func (f *snapshotFlags) register(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.files, "snapshot", nil,
		"`FILE` to answer from instead of asking a muster that runs, written by 'kubectl get nodes,pods,... -A -o yaml' or -o json; - is "+
			"standard input; may be repeated")
	flags.StringVar(&f.config, "config", "", "with --snapshot, configuration `FILE` (default: what 'muster config default' prints)")
}

// readyPause is how often a muster is asked whether it has read its dumps.
const readyPause = 10 * time.Millisecond

// serve runs a muster until it is stopped, and returns who asks it, once it has read the dumps.
func (f *snapshotFlags) serve(cmd *cobra.Command) (*asked, error) {
	s, err := f.newServer(cmd)
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancelCause(cmd.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.Run(ctx); err != nil {
			end(fmt.Errorf("--snapshot: %w", err))
		}
	}()
	stop := func() {
		end(nil)
		<-done
	}
	client, err := remote.New(remote.Options{Server: "http://" + s.DebugAddr().String()})
	if err == nil {
		err = untilReady(ctx, client)
	}
	if err != nil {
		stop()
		return nil, err
	}
	return &asked{muster: client, ours: true, namespace: metav1.NamespaceDefault, stop: stop}, nil
}

// newServer makes one that answers on loopback, at free ports, and does nothing else.
func (f *snapshotFlags) newServer(cmd *cobra.Command) (*server.Server, error) {
	cfg, _, err := loadConfig(f.config)
	if err != nil {
		return nil, err
	}
	const anyPort = "127.0.0.1:0"
	cfg.Serving.Listen, cfg.Serving.HealthListen, cfg.Serving.WebhookListen, cfg.Serving.TLS = anyPort, "", "", config.TLS{}
	cfg.Debug, cfg.LeaderElection.LeaderElect, cfg.Tracing.Endpoint = config.Debug{Listen: anyPort}, false, ""
	return server.New(server.Options{SnapshotFiles: f.files, Stdin: cmd.InOrStdin(), Options: app.Options{
		Config: cfg, Version: buildInfo().Main.Version, Logger: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry(),
	}})
}

// untilReady returns once a muster is ready that has nodes.
func untilReady(ctx context.Context, client *remote.Client) error {
	nodes := 0
	err := wait.PollUntilContextCancel(ctx, readyPause, true, func(ctx context.Context) (bool, error) {
		overview, err := client.Overview(ctx)
		if err != nil {
			return false, nil //nolint:nilerr // it does not serve yet
		}
		nodes = overview.Nodes
		return overview.Unready == "", nil
	})
	switch {
	case err != nil:
		return context.Cause(ctx)
	case nodes == 0:
		return errors.New("--snapshot: there are no nodes: is that a dump of a cluster, as 'kubectl get nodes,pods -A -o yaml' writes it?")
	}
	return nil
}
