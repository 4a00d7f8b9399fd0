// Package rescheduling is the process of the rescheduler ('muster reschedule'), wired: its view of the
// cluster, the loop that makes plans and has them carried out, the pages and the ports.
package rescheduling

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	reschedulingv1alpha1 "muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/inspect"
	"muster.dev/muster/loadaware"
	"muster.dev/muster/loadaware/nodemetric"
	"muster.dev/muster/rescheduler/loop"
	"muster.dev/muster/server/access"
	"muster.dev/muster/server/app"
	"muster.dev/muster/server/leadership"
)

// Options of the process. The first three are required.
type Options struct {
	Config *config.Configuration
	// Connect says how to reach the API server.
	Connect func(config.ClientConnection) (*rest.Config, error)
	Logger  *slog.Logger
	// File is where Config is from, and further ones come from.
	File app.ConfigFile
	// Version and Flags of the command line appear on /statusz and /flagz.
	Version string
	Flags   map[string]string
	// Registry takes the metrics and shows them at /metrics; nil stands for a new one.
	Registry inspect.Registry
}

// reporter is the reporter of events.
const reporter = "muster-rescheduler"

// unused returns the sections of the configuration that mean nothing to this process.
func unused() []string { return []string{"serving", "nomination", "ahead", "tracing"} }

// Run reschedules until the context ends, or the lease is lost: by the configuration of the file as it is at any time.
func Run(ctx context.Context, o Options) error {
	if o.Registry == nil {
		o.Registry = prometheus.NewRegistry()
	}
	inspect.RegisterRuntime(o.Registry, o.Version)
	registered := inspect.Passing{Registry: o.Registry}
	anew := app.Restarter{
		Logger: o.Logger, Clock: clock.RealClock{}, Registerer: o.Registry, File: o.File, Config: o.Config, Unused: unused(),
		New: func(cfg *config.Configuration) (*app.Process, error) {
			registered.Clear()
			life := o
			life.Config, life.Registry = cfg, &registered
			return New(life)
		},
	}
	return anew.Run(ctx)
}

// New wires all of it, and opens its ports. Run must follow, as it closes them.
func New(o Options) (_ *app.Process, err error) {
	c := cluster.New(cluster.Options{Logger: o.Logger, Registerer: o.Registry, AssumeTTL: o.Config.Timeouts.Assume.Duration})
	load := loadaware.Options{Logger: o.Logger, Metrics: loadaware.NewMetrics(o.Registry)}
	profiles, err := app.NewProfiles(app.ProfileOptions{
		Registerer: o.Registry, Cluster: c, Config: o.Config, Load: load, SchedulerScores: true,
	})
	if err != nil {
		return nil, err
	}
	connection, err := o.Connect(o.Config.ClientConnection)
	if err != nil {
		return nil, fmt.Errorf("connect to the API server: %w", err)
	}
	api, err := connect(&o, connection)
	if err != nil {
		return nil, err
	}
	events := app.NoEvents()
	if o.Config.Rescheduler.Mode != reschedulingv1alpha1.DryRun {
		events = app.NewEvents(api.client, reporter)
	}
	defer func() {
		if err != nil {
			events.Shutdown()
		}
	}()
	plans := loop.New(loop.Options{
		Logger: o.Logger, Registerer: o.Registry, Clock: clock.RealClock{}, Config: o.Config, Cluster: c, Profiles: profiles.InForce(),
		Load: load, Core: api.leader, Objects: api.objects, Events: events.Recorder(), Lease: lease(o.Config),
	})
	feed, handled, err := app.NewUsage(app.UsageOptions{
		Logger: o.Logger, Registerer: o.Registry, Cluster: c, Config: o.Config, RESTConfig: connection, Expirations: slices.Concat(loadaware.Expirations(o.Config.Profiles), plans.Expirations()),
		Durations:   loadaware.Durations(o.Config.Profiles),
		NodeMetrics: nodemetric.NewStore(), Events: events, Lease: lease(o.Config),
	})
	if err != nil {
		return nil, err
	}
	handled[reschedulingv1alpha1.ReschedulingPlans()] = plans.Plans().Handler()
	watcher, err := cluster.NewWatcher(c, cluster.WatchOptions{
		Client: api.client, Jobs: true, Optional: v1alpha1.Resources(), Dynamic: api.objects, Metadata: api.metadata, Handled: handled,
	})
	if err != nil {
		return nil, err
	}
	d := &desk{
		log: o.Logger, config: o.Config, cluster: c, pages: plans.Endpoints(), client: api.client, synced: watcher.Synced, open: access.Listen,
		about: &inspect.Process{Name: reporter, Version: o.Version, Clock: clock.RealClock{}, Started: time.Now(), Flags: o.Flags},
	}
	servers, err := d.listen(o.Registry)
	if err != nil {
		return nil, err
	}
	components := []app.Component{
		app.Part("watch", app.Always, watcher.Run),
		app.Part("ReschedulingPlans", app.Always, plans.Plans().Run),
		{Name: "usage", When: app.Always, Run: func(ctx context.Context) error {
			return events.Run(ctx, func(ctx context.Context) { feed.Run(ctx, watcher.WaitForSync) })
		}},
		app.Part("plans", app.Leading, plans.Run),
	}
	for _, s := range servers {
		components = append(components, app.Component{Name: s.Field, When: app.Always, Run: s.Run})
	}
	return &app.Process{
		Logger: o.Logger, Components: components, Wait: watcher.WaitForSync, Election: api.election, Candidacy: watcher.WaitForSync,
	}, nil
}

// api is the way to the API server. Writes that only the leader may make go through the fence.
type api struct {
	election *app.Election
	client   kubernetes.Interface
	metadata metadata.Interface
	leader   kubernetes.Interface // behind the fence
	objects  dynamic.Interface    // as leader
}

// connect connects to the API server, and has this process act only while it has the lease.
func connect(o *Options, connection *rest.Config) (*api, error) {
	leases, err := leadership.NewLeaseClient(connection, o.Config.LeaderElection)
	if err != nil {
		return nil, fmt.Errorf("clientConnection: %w", err)
	}
	a := &api{}
	if a.election, err = app.NewElection(app.ElectionOptions{
		Registerer: o.Registry, Leases: leases, Config: o.Config.LeaderElection, Name: lease(o.Config),
	}); err != nil {
		return nil, err
	}
	guarded := a.election.Fence().Guard(connection)
	var errs [4]error
	a.client, errs[0] = kubernetes.NewForConfig(cluster.ClientConfig(connection))
	a.leader, errs[1] = kubernetes.NewForConfig(cluster.ClientConfig(guarded))
	a.objects, errs[2] = dynamic.NewForConfig(guarded)
	a.metadata, errs[3] = metadata.NewForConfig(connection)
	for _, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("clientConnection: %w", err)
		}
	}
	return a, nil
}

// lease returns the name of the Lease of the processes that may reschedule.
func lease(cfg *config.Configuration) string {
	return cfg.LeaderElection.ResourceName + "-rescheduler"
}
