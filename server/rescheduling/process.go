// Package rescheduling is the process of the rescheduler ('muster reschedule'), wired: its view of the
// cluster, the loop that makes plans and has them carried out, the pages and the ports.
package rescheduling

import (
	"context"
	"fmt"
	"maps"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	reschedulingv1alpha1 "muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster/watch"
	"muster.dev/muster/inspect"
	"muster.dev/muster/loadaware/nodemetric"
	"muster.dev/muster/rescheduler/loop"
	"muster.dev/muster/server/access"
	"muster.dev/muster/server/app"
	"muster.dev/muster/server/leadership"
)

// Options of the process. Connect says how to reach the API server.
type Options struct {
	app.Options
	Connect func(config.ClientConnection) (*rest.Config, error)
}

// reporter is the reporter of events.
const reporter = "muster-rescheduler"

// unused returns the sections of the configuration that mean nothing to this process.
func unused() []string { return []string{"serving", "nomination", "ahead", "tracing"} }

// Run reschedules until the context ends, or the lease is lost: by the configuration of the file as it is at any time.
func Run(ctx context.Context, o Options) error {
	registered := inspect.Passing{Registry: o.Registry}
	restarter := app.Restarter{
		Logger: o.Logger, Clock: clock.RealClock{}, Registerer: o.Registry, File: o.File, Config: o.Config, Unused: unused(),
		New: func(cfg *config.Configuration) (*app.Process, error) {
			registered.Clear()
			life := o
			life.Config, life.Registry = cfg, &registered
			return New(life)
		},
	}
	return restarter.Run(ctx)
}

// New wires all of it, and opens its ports. Run must follow, as it closes them.
func New(o Options) (_ *app.Process, err error) {
	b := app.NewBase(reporter, o.Options, true)
	profiles, err := app.NewProfiles(app.ProfileOptions{
		Registerer: b.Registry, Cluster: b.Cluster, Config: b.Config, Load: b.Load, SchedulerScores: true,
	})
	if err != nil {
		return nil, err
	}
	lease := b.Config.LeaderElection.ResourceName + "-rescheduler"
	api, err := connect(&o, lease)
	if err != nil {
		return nil, err
	}
	events := app.NoEvents()
	if b.Config.Rescheduler.Mode != reschedulingv1alpha1.DryRun {
		events = app.NewEvents(api.Core, reporter)
	}
	defer func() {
		if err != nil {
			events.Shutdown()
		}
	}()
	plans := loop.New(loop.Options{
		Logger: b.Logger, Registerer: b.Registry, Clock: clock.RealClock{}, Config: b.Config, Cluster: b.Cluster, Profiles: profiles.InForce(),
		Load: b.Load, Core: api.Leader.Core, Objects: api.Leader.Dynamic, Events: events.Recorder(), Lease: lease,
	})
	usage, err := app.NewUsage(b, api, app.UsageOptions{
		Expirations: plans.Expirations(), NodeMetrics: nodemetric.NewStore(), Events: events, Lease: lease,
	})
	if err != nil {
		return nil, err
	}
	usage.Handled[reschedulingv1alpha1.ReschedulingPlans()] = plans.Plans().Handler()
	maps.Copy(usage.Handled, b.Owners.Handled(b.Cluster))
	watcher, err := watch.New(b.Cluster, watch.Options{
		Logger: b.Logger, Registerer: b.Registry,
		Client: api.Core, Jobs: true, Optional: v1alpha1.Resources(), Dynamic: api.Leader.Dynamic, Metadata: api.Metadata, Handled: usage.Handled,
		FindOwner: b.Owners.Finder(api.Metadata),
	})
	if err != nil {
		return nil, err
	}
	d := &desk{
		log: b.Logger, config: b.Config, about: b.About, cluster: b.Cluster, pages: plans.Endpoints(), client: api.Core,
		synced: watcher.Synced, open: access.Listen,
	}
	servers, err := d.listen(b.Registry)
	if err != nil {
		return nil, err
	}
	components := []app.Component{
		app.Part("watch", app.Always, watcher.Run),
		app.Part("ReschedulingPlans", app.Always, plans.Plans().Run),
		usage.Component(watcher.WaitForSync),
		app.Part("plans", app.Leading, plans.Run),
	}
	for _, s := range servers {
		components = append(components, app.Component{Name: s.Field, When: app.Always, Run: s.Run})
	}
	return &app.Process{
		Logger: b.Logger, Components: components, Wait: watcher.WaitForSync, Election: api.Election, Candidacy: watcher.WaitForSync,
	}, nil
}

// connect connects to the API server, and has this process act only while it has the lease.
func connect(o *Options, lease string) (*app.API, error) {
	connection, err := o.Connect(o.Config.ClientConnection)
	if err != nil {
		return nil, fmt.Errorf("connect to the API server: %w", err)
	}
	leases, err := leadership.NewLeaseClient(connection, o.Config.LeaderElection)
	if err != nil {
		return nil, fmt.Errorf("clientConnection: %w", err)
	}
	election, err := app.NewElection(app.ElectionOptions{
		Registerer: o.Registry, Leases: leases, Config: o.Config.LeaderElection, Name: lease, Server: connection.Host,
	})
	if err != nil {
		return nil, err
	}
	return app.Connect(connection, election)
}
