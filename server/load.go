package server

import (
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/loadaware"
	"muster.dev/muster/loadaware/nodemetric"
	"muster.dev/muster/loadaware/source"
	"muster.dev/muster/server/app"
)

// newUsage sets up what brings usage into the view, and what the configuration asks to be done for NodeMetrics.
func newUsage(b *base, a *api) (*app.Usage, []app.Component, error) {
	if !a.live() {
		return app.NoUsage(), nil, nil
	}
	cfg := &b.Config.Load
	events, store := app.NewEvents(a.Core, b.About.Name), nodemetric.NewStore()
	keepers, followers := keepNodeMetrics(b, a, store, events.Recorder())
	usage, err := app.NewUsage(b.Base, a.API, app.UsageOptions{
		NodeMetrics: store, Watches: len(keepers) > 0, Followers: followers, Events: events, Lease: b.Config.LeaderElection.ResourceName,
	})
	if err != nil {
		return nil, nil, err
	}
	b.Logger.Info("usage of nodes",
		"source", cfg.Source, "managesNodeMetrics", cfg.NodeMetrics.Manage, "reportsToNodeMetrics", cfg.Reports())
	return usage, keepers, nil
}

// keepNodeMetrics returns what is done for NodeMetrics beside reading them, and who is told what a source says.
func keepNodeMetrics(
	b *base, a *api, store *nodemetric.Store, recorder events.EventRecorder,
) (keepers []app.Component, followers []source.Follower) {
	cfg := b.Config.Load.NodeMetrics
	if !cfg.Manage {
		return nil, nil
	}
	metrics := nodemetric.NewMetrics(b.Registry)
	controller := nodemetric.NewController(nodemetric.ControllerOptions{
		Logger: b.Logger, Clock: clock.RealClock{}, Metrics: metrics, Cluster: b.Cluster, Store: store,
		Core: a.Leader.Core, Dynamic: a.Leader.Dynamic, Events: recorder, Namespace: cfg.ConfigNamespace,
	})
	keepers = append(keepers, app.Part("NodeMetrics", app.Leading, controller.Run))
	if !b.Config.Load.Reports() {
		return keepers, nil
	}
	reporter := nodemetric.NewReporter(nodemetric.ReporterOptions{
		Logger: b.Logger, Clock: clock.RealClock{}, Metrics: metrics, Store: store, Dynamic: a.Leader.Dynamic,
	})
	return append(keepers, app.Part("reports to NodeMetrics", app.Leading, reporter.Run)), []source.Follower{reporter}
}

// newProfiles puts the profiles of the configuration in force.
func newProfiles(b *base, usage *app.Usage, r *registration) (*app.Profiles, error) {
	profiles, err := app.NewProfiles(app.ProfileOptions{
		Registerer: b.Registry, Cluster: b.Cluster, Config: b.Config, Load: b.Load,
		Follow: func(profiles []config.Profile) {
			usage.Follow(profiles)
			r.follow(profiles)
		},
	})
	if err != nil {
		return nil, err
	}
	b.Registry.MustRegister(loadaware.NewCollector(profiles.InForce(), b.Cluster))
	return profiles, nil
}
