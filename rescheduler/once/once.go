// Package once fills a view of a cluster with what there is at one moment: of an API server, or of dumps.
package once

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	schedulingv1alpha1 "muster.dev/muster/api/scheduling/v1alpha1"
	slov1alpha1 "muster.dev/muster/api/slo/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/cluster/watch"
	"muster.dev/muster/gang/operators"
	"muster.dev/muster/loadaware"
	"muster.dev/muster/loadaware/nodemetric"
	"muster.dev/muster/loadaware/usage"
)

// Source says where a cluster is read. Logger and Registerer are required.
type Source struct {
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	// RESTConfig is the way to the API server, when there are no Files.
	RESTConfig *rest.Config
	// Files are dumps of a cluster; - is Stdin.
	Files []string
	Stdin io.Reader
	// Kinds are more kinds of objects that are read of dumps.
	Kinds []cluster.CustomKind
}

// errNoNodes says that there is nothing to plan for.
var errNoNodes = errors.New("there are no nodes: is that a dump of a cluster, as 'kubectl get nodes,pods -A -o yaml' writes it?")

// patience bounds how long an API server is read.
const patience = 2 * time.Minute

// Fill fills a view of the cluster. Of the configuration it reads where measurements come from. It returns once the view is complete,
// and follows nothing afterwards. An error names the file and the place in it, or the request.
func (s *Source) Fill(ctx context.Context, cfg *config.Configuration, c *cluster.Cluster, owners *operators.Set) error {
	if len(s.Files) == 0 {
		return s.read(ctx, cfg, c, owners)
	}
	loaded, err := usage.Load(c, s.Logger, s.Files, s.Stdin, slices.Concat(owners.Dumped(c), c.DumpedTopologies(), s.Kinds)...)
	if err != nil {
		return err
	}
	s.Logger.Info("planning for a dump", "summary", loaded.String())
	if c.Snapshot().NodeCount() == 0 {
		return errNoNodes
	}
	return nil
}

// read reads what the API server has.
func (s *Source) read(ctx context.Context, cfg *config.Configuration, c *cluster.Cluster, owners *operators.Set) error {
	client, err := kubernetes.NewForConfig(cluster.ClientConfig(s.RESTConfig))
	if err != nil {
		return fmt.Errorf("connect to the API server: %w", err)
	}
	following := watch.Options{
		Logger: s.Logger, Registerer: s.Registerer, Client: client, Jobs: true, Optional: schedulingv1alpha1.Resources(),
		Handled: owners.Handled(c),
	}
	if following.Dynamic, err = dynamic.NewForConfig(s.RESTConfig); err != nil {
		return fmt.Errorf("connect to the API server: %w", err)
	}
	if following.Metadata, err = metadata.NewForConfig(s.RESTConfig); err != nil {
		return fmt.Errorf("connect to the API server: %w", err)
	}
	maps.Copy(following.Handled, c.HandledTopologies())
	nodeMetrics := nodemetric.NewStore()
	feed, err := usage.New(usage.Options{
		Logger: s.Logger, Clock: clock.RealClock{}, Registerer: s.Registerer, Cluster: c,
		Load: &cfg.Load, Expirations: loadaware.Expirations(cfg.Profiles),
		Durations: loadaware.Durations(cfg.Profiles), RESTConfig: s.RESTConfig, NodeMetrics: nodeMetrics,
	})
	if err != nil {
		return err
	}
	if feed.NodeMetrics {
		following.Handled[slov1alpha1.NodeMetrics()] = nodeMetrics.Handler(feed.Watched)
	}
	watcher, err := watch.New(c, following)
	if err != nil {
		return err
	}
	watching, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	running.Go(func() { watcher.Run(watching) })
	waiting, done := context.WithTimeout(ctx, patience)
	defer done()
	if err := watcher.WaitForSync(waiting); err != nil {
		if ctx.Err() == nil {
			return fmt.Errorf("gave up after %s, are they allowed to be listed and watched? %w", patience, err)
		}
		return err
	}
	feed.Look(ctx)
	return nil
}
