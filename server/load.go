package server

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/loadaware"
	"muster.dev/muster/loadaware/nodemetric"
	"muster.dev/muster/loadaware/source"
	"muster.dev/muster/loadaware/usage"
	"muster.dev/muster/server/app"
)

// load brings usage into the view, and serves NodeMetrics.
type load struct {
	feed    *usage.Feed
	events  *app.Events // nil where nothing is done
	handled map[schema.GroupVersionResource]cluster.CustomHandler
	leading []app.Component
}

// newLoad sets up what the configuration asks for.
func newLoad(b *base, a *api) (*load, error) {
	cfg := &b.Config.Load
	if a.client == nil || cfg.Source == config.LoadSourceNone && !cfg.NodeMetrics.Manage {
		return &load{feed: &usage.Feed{}, handled: map[schema.GroupVersionResource]cluster.CustomHandler{}}, nil
	}
	l := &load{events: app.NewEvents(a.client, "muster")}
	store := nodemetric.NewStore()
	followers := l.keepNodeMetrics(b, a, store, l.events.Recorder())
	var err error
	l.feed, l.handled, err = app.NewUsage(app.UsageOptions{
		Logger: b.Logger, Registerer: b.Registry, Cluster: b.cluster, Config: b.Config, RESTConfig: b.RESTConfig,
		Expirations: loadaware.Expirations(b.Config.Profiles), Durations: loadaware.Durations(b.Config.Profiles),
		NodeMetrics: store, Watches: len(l.leading) > 0, Followers: followers,
		Events: l.events, Lease: b.Config.LeaderElection.ResourceName,
	})
	if err != nil {
		return nil, err
	}
	b.Logger.Info("usage of nodes",
		"source", cfg.Source, "managesNodeMetrics", cfg.NodeMetrics.Manage, "reportsToNodeMetrics", cfg.Reports())
	return l, nil
}

// keepNodeMetrics sets up what is done for NodeMetrics beside reading them, and returns who is told what a
// source says.
func (l *load) keepNodeMetrics(b *base, a *api, store *nodemetric.Store, recorder events.EventRecorder) []source.Follower {
	cfg := b.Config.Load.NodeMetrics
	if !cfg.Manage {
		return nil
	}
	metrics := nodemetric.NewMetrics(b.Registry)
	controller := nodemetric.NewController(nodemetric.ControllerOptions{
		Logger: b.Logger, Clock: clock.RealClock{}, Metrics: metrics, Cluster: b.cluster, Store: store,
		Core: a.leader.core, Dynamic: a.leader.dynamic, Events: recorder, Namespace: cfg.ConfigNamespace,
	})
	l.leading = append(l.leading, app.Part("NodeMetrics", app.Leading, controller.Run))
	if !b.Config.Load.Reports() {
		return nil
	}
	reporter := nodemetric.NewReporter(nodemetric.ReporterOptions{
		Logger: b.Logger, Clock: clock.RealClock{}, Metrics: metrics, Store: store, Dynamic: a.leader.dynamic,
	})
	l.leading = append(l.leading, app.Part("reports to NodeMetrics", app.Leading, reporter.Run))
	return []source.Follower{reporter}
}

// components keep usage up to date. A replica that does not lead reads it as well, and so has it when it
// comes to lead. wait returns when the view of the cluster is complete.
func (l *load) components(wait func(context.Context) error) []app.Component {
	if l.events == nil {
		return nil
	}
	return append(l.leading, app.Component{Name: "usage", When: app.Always, Run: func(ctx context.Context) error {
		return l.events.Run(ctx, func(ctx context.Context) { l.feed.Run(ctx, wait) })
	}})
}

// newProfiles puts the profiles of the configuration in force.
func newProfiles(b *base, l *load, r *registration) (*app.Profiles, error) {
	o := app.ProfileOptions{
		Registerer: b.Registry, Cluster: b.cluster, Config: b.Config,
		Load: loadaware.Options{Logger: b.Logger, Metrics: loadaware.NewMetrics(b.Registry)},
		Follow: func(profiles []config.Profile) {
			l.feed.Follow(profiles)
			r.follow(profiles)
		},
	}
	profiles, err := app.NewProfiles(o)
	if err != nil {
		return nil, err
	}
	b.Registry.MustRegister(loadaware.NewCollector(profiles.InForce(), b.cluster))
	return profiles, nil
}
