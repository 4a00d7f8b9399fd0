package server

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config/v1alpha2"
	slov1alpha1 "muster.dev/muster/api/slo/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/loadaware"
	"muster.dev/muster/loadaware/nodemetric"
	"muster.dev/muster/loadaware/source"
	"muster.dev/muster/loadaware/usage"
)

// load is what brings usage into the view, and what is done for NodeMetrics. Parts that the
// configuration does not ask for are nil.
type load struct {
	events     events.EventBroadcaster
	usage      *usage.Feed
	controller *nodemetric.Controller
	reporter   *nodemetric.Reporter
}

// readUsage sets up the source of usage, and returns who takes the custom resources that it
// needs.
func (s *Server) readUsage(o Options) (map[schema.GroupVersionResource]cluster.CustomHandler, error) {
	config := &o.Config.Load
	if config.Source == v1alpha2.LoadSourceNone && !config.NodeMetrics.Manage {
		return nil, nil
	}
	s.load.events = events.NewBroadcaster(&events.EventSinkImpl{Interface: s.client.EventsV1()})
	recorder := s.load.events.NewRecorder(scheme.Scheme, "muster")
	store := nodemetric.NewStore()
	s.keepNodeMetrics(o, store, recorder)
	var followers []source.Follower
	if s.load.reporter != nil {
		followers = append(followers, s.load.reporter)
	}
	var err error
	s.load.usage, err = usage.New(usage.Options{
		Logger:      o.Logger,
		Clock:       clock.RealClock{},
		Registerer:  s.registry,
		Cluster:     s.cluster,
		Load:        config,
		Expirations: loadaware.Expirations(o.Config.Profiles),
		RESTConfig:  o.RESTConfig,
		NodeMetrics: store,
		Followers:   followers,
		Events:      recorder,
		// Of all that there is in the API, the Lease stands for muster as a whole.
		About: &corev1.ObjectReference{
			APIVersion: "coordination.k8s.io/v1", Kind: "Lease",
			Namespace: o.Config.LeaderElection.ResourceNamespace, Name: o.Config.LeaderElection.ResourceName,
		},
	})
	if err != nil {
		return nil, err
	}
	o.Logger.Info(
		"usage of nodes",
		"source",
		config.Source,
		"managesNodeMetrics",
		config.NodeMetrics.Manage,
		"reportsToNodeMetrics",
		config.NodeMetrics.Report,
	)
	if !s.load.usage.NodeMetrics && s.load.controller == nil && s.load.reporter == nil {
		return nil, nil
	}
	return map[schema.GroupVersionResource]cluster.CustomHandler{slov1alpha1.NodeMetrics(): store.Handler(s.load.usage.Watched)}, nil
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
			Core: s.leader.core, Dynamic: s.leader.dynamic, Events: recorder, Namespace: config.ConfigNamespace,
		})
	}
	if config.Report {
		s.load.reporter = nodemetric.NewReporter(nodemetric.ReporterOptions{
			Logger: o.Logger, Clock: clock.RealClock{}, Metrics: metrics, Store: store, Dynamic: s.leader.dynamic,
		})
	}
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
	s.load.usage.Run(ctx, s.watcher.WaitForSync)
	<-ctx.Done()
	return nil
}
