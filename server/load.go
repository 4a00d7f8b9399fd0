package server

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	metricsv1beta1 "k8s.io/metrics/pkg/client/clientset/versioned/typed/metrics/v1beta1"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config/v1alpha2"
	slov1alpha1 "muster.dev/muster/api/slo/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/loadaware"
	"muster.dev/muster/loadaware/nodemetric"
	"muster.dev/muster/loadaware/source"
)

// load is what brings usage into the view, and what is done for NodeMetrics. Parts that the
// configuration does not ask for are nil.
type load struct {
	events     events.EventBroadcaster
	keeper     *source.Keeper
	health     *source.Health
	poller     *source.Poller
	controller *nodemetric.Controller
	reporter   *nodemetric.Reporter
}

// readUsage sets up the source of usage, and returns who takes the custom resources that it
// needs.
func (s *Server) readUsage(o Options) (map[schema.GroupVersionResource]cluster.CustomHandler, error) {
	config := o.Config.Load
	if config.Source == v1alpha2.LoadSourceNone && !config.NodeMetrics.Manage {
		return nil, nil
	}
	s.load.events = events.NewBroadcaster(&events.EventSinkImpl{Interface: s.client.EventsV1()})
	recorder := s.load.events.NewRecorder(scheme.Scheme, "muster")

	watched := func(error) {} // who is told how the watch on NodeMetrics goes
	store := nodemetric.NewStore(s.cluster.ResourceNames())
	if config.Source != v1alpha2.LoadSourceNone {
		s.load.keeper = source.NewKeeper(source.KeeperOptions{
			Clock: clock.RealClock{}, Registerer: s.registry, Cluster: s.cluster, Expirations: loadaware.Expirations(o.Config.Profiles),
		})
		s.load.health = source.NewHealth(source.HealthOptions{
			Logger: o.Logger, Clock: clock.RealClock{}, Registerer: s.registry, Source: string(config.Source), Events: recorder,
			// Of all that there is in the API, the Lease stands for muster as a whole.
			About: &corev1.ObjectReference{
				APIVersion: "coordination.k8s.io/v1", Kind: "Lease",
				Namespace: o.Config.LeaderElection.ResourceNamespace, Name: o.Config.LeaderElection.ResourceName,
			},
		})
	}
	s.keepNodeMetrics(o, store, recorder)
	followers := []source.Follower{s.load.keeper}
	if s.load.reporter != nil {
		followers = append(followers, s.load.reporter)
	}
	var err error
	switch config.Source {
	case v1alpha2.LoadSourceNodeMetric:
		watched = s.load.health.Observe
		store.ReportTo(s.load.keeper, o.Logger)
	case v1alpha2.LoadSourceMetrics:
		err = s.pollMetrics(o, followers)
	case v1alpha2.LoadSourcePrometheus:
		err = s.pollPrometheus(o, followers)
	}
	o.Logger.Info("usage of nodes", "source", config.Source, "managesNodeMetrics", config.NodeMetrics.Manage, "reportsToNodeMetrics", config.NodeMetrics.Report)
	if config.Source != v1alpha2.LoadSourceNodeMetric && s.load.controller == nil && s.load.reporter == nil {
		return nil, err
	}
	return map[schema.GroupVersionResource]cluster.CustomHandler{slov1alpha1.NodeMetrics(): store.Handler(watched)}, err
}

// keepNodeMetrics sets up what is done for NodeMetrics beside reading them.
func (s *Server) keepNodeMetrics(o Options, store *nodemetric.Store, recorder events.EventRecorder) {
	config := o.Config.Load.NodeMetrics
	if !config.Manage && !config.Report {
		return
	}
	metrics := nodemetric.NewMetrics(s.registry)
	if config.Manage {
		s.load.controller = nodemetric.NewController(nodemetric.ControllerOptions{
			Logger: o.Logger, Clock: clock.RealClock{}, Metrics: metrics, Cluster: s.cluster, Store: store,
			Core: s.client, Dynamic: s.dynamic, Events: recorder, Namespace: config.ConfigNamespace,
		})
	}
	if config.Report {
		s.load.reporter = nodemetric.NewReporter(nodemetric.ReporterOptions{
			Logger: o.Logger, Clock: clock.RealClock{}, Metrics: metrics, Store: store, Dynamic: s.dynamic, Names: s.cluster.ResourceNames(),
		})
	}
}

func (s *Server) pollMetrics(o Options, followers []source.Follower) error {
	client, err := metricsv1beta1.NewForConfig(cluster.ClientConfig(o.RESTConfig))
	if err != nil {
		return fmt.Errorf("clientConnection: %w", err)
	}
	interval := o.Config.Load.Metrics.Interval.Duration
	s.poll(source.NewMetricsAPI(client, s.cluster.ResourceNames()), interval, interval, followers)
	return nil
}

func (s *Server) pollPrometheus(o Options, followers []source.Follower) error {
	config := o.Config.Load.Prometheus
	reader, err := source.NewPrometheus(config, s.cluster.ResourceNames())
	if err != nil {
		return err
	}
	s.poll(reader, config.Interval.Duration, config.Timeout.Duration, followers)
	return nil
}

func (s *Server) poll(reader source.Reader, interval, timeout time.Duration, followers []source.Follower) {
	s.load.poller = source.NewPoller(source.PollerOptions{
		Clock: clock.RealClock{}, Cluster: s.cluster, Reader: reader, Health: s.load.health,
		Interval: interval, Timeout: timeout, Priority: loadaware.PriorityClass, Followers: followers,
	})
}

// runLoad keeps usage up to date until the context ends. A replica that does not lead reads it
// as well, and so has it when it comes to lead.
func (s *Server) runLoad(ctx context.Context) error {
	if s.load.events == nil {
		return nil
	}
	if err := s.load.events.StartRecordingToSinkWithContext(ctx); err != nil {
		return fmt.Errorf("record events: %w", err)
	}
	defer s.load.events.Shutdown()
	var running sync.WaitGroup
	defer running.Wait()
	if s.load.keeper != nil {
		running.Go(func() { s.load.keeper.Run(ctx) })
	}
	switch complete := s.watcher.WaitForSync(ctx) == nil; {
	case complete && s.load.poller != nil:
		s.load.poller.Run(ctx)
	case complete && s.load.health != nil && s.load.health.Status().Since.IsZero():
		s.load.health.Observe(nodemetric.ErrUndefined) // else the watch would have said something
	}
	<-ctx.Done()
	return nil
}
