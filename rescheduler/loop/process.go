package loop

import (
	"context"
	"fmt"
	"log/slog"
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
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/inspect"
	"muster.dev/muster/loadaware"
	"muster.dev/muster/loadaware/nodemetric"
	"muster.dev/muster/rescheduler/evictions"
	"muster.dev/muster/rescheduler/executor"
	"muster.dev/muster/rescheduler/policy"
	"muster.dev/muster/rescheduler/reservation"
	"muster.dev/muster/rescheduler/scaleup"
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
	settings := &o.Config.Rescheduler
	events := app.NoEvents()
	if settings.Mode != reschedulingv1alpha1.DryRun {
		events = app.NewEvents(api.client, reporter)
	}
	defer func() {
		if err != nil {
			events.Shutdown()
		}
	}()
	expirations := loadaware.Expirations(o.Config.Profiles)
	var measured policy.Measured
	if settings.Relieve.Enabled || settings.Balance.Enabled {
		meter := policy.NewMeter(o.Config, load)
		expirations = append(expirations, meter.Expiration())
		if settings.Relieve.Enabled {
			measured.Hot = policy.NewHot(&settings.Relieve, meter, policy.HotSamples)
		}
		if settings.Balance.Enabled {
			measured.Uneven = policy.NewUneven(&settings.Balance, meter, policy.UnevenSamples)
		}
	}
	bell := newAlarm()
	keeper := reservation.New(reservation.Options{
		Logger: o.Logger, Clock: clock.RealClock{}, Cluster: c, Profiles: profiles.InForce(), Changed: bell.ring,
	})
	client := executor.NewClient(api.leader, api.objects)
	rules, limits := rules(settings), limits(settings)
	record := evictions.New(evictions.Options{
		Logger: o.Logger, Clock: clock.RealClock{}, Remembers: limits.Remembers, ReadOnly: settings.Mode == reschedulingv1alpha1.DryRun,
		Store: evictions.NewConfigMap(api.leader.CoreV1().ConfigMaps(o.Config.LeaderElection.ResourceNamespace), lease(o.Config)+"-evictions"),
	})
	carrier := executor.New(executor.Options{
		Logger:       o.Logger,
		Clock:        clock.RealClock{},
		Cluster:      c,
		Profiles:     profiles.InForce(),
		Reservations: keeper,
		Record:       record,
		Client:       client,
		Events:       events.Recorder(),
		Metrics:      executor.NewMetrics(o.Registry),
		Rules:        rules,
		Limits:       limits,
		Mode:         settings.Mode,
		PlanTTL:      settings.PlanTTL(),
		Mark:         settings.Coalesce.Mark,
		ClosedFor:    settings.Coalesce.ClosedFor.Duration,
		TellAfter:    tellAfter,
	})
	telling := scaleup.Options{Logger: o.Logger, Registerer: o.Registry, Clock: clock.RealClock{}, Cluster: c, Events: events.Recorder()}
	if settings.Mode != reschedulingv1alpha1.DryRun {
		telling.Client, telling.Requests = scaleup.NewClient(api.leader.CoreV1().RESTClient()), requests(&o, api)
	}
	l := &loop{
		log:          o.Logger,
		clock:        clock.RealClock{},
		config:       settings,
		cluster:      c,
		profiles:     profiles.InForce(),
		reservations: keeper,
		executor:     carrier,
		record:       record,
		writer:       client,
		teller:       scaleup.New(telling),
		metrics:      newMetrics(o.Registry),
		alarm:        bell,
		policies:     policy.All(settings, measured),
		measured:     measured,
		limits:       limits,
		rules:        rules,
		gangs:        membership.BoundsOf(&o.Config.Gangs),
		journal:      newJournal(),
	}
	o.Registry.MustRegister(newPlansByPhase(keeper), executor.NewBudgetLeft(carrier))
	feed, handled, err := app.NewUsage(app.UsageOptions{
		Logger: o.Logger, Registerer: o.Registry, Cluster: c, Config: o.Config, RESTConfig: connection, Expirations: expirations,
		Durations:   loadaware.Durations(o.Config.Profiles),
		NodeMetrics: nodemetric.NewStore(), Events: events, Lease: lease(o.Config),
	})
	if err != nil {
		return nil, err
	}
	handled[reschedulingv1alpha1.ReschedulingPlans()] = keeper.Handler()
	watcher, err := cluster.NewWatcher(c, cluster.WatchOptions{
		Client: api.client, Jobs: true, Optional: v1alpha1.Resources(), Dynamic: api.objects, Metadata: api.metadata, Handled: handled,
	})
	if err != nil {
		return nil, err
	}
	d := &desk{
		log: o.Logger, config: o.Config, loop: l, client: api.client, synced: watcher.Synced, open: access.Listen,
		about: &inspect.Process{Name: reporter, Version: o.Version, Clock: clock.RealClock{}, Started: time.Now(), Flags: o.Flags},
	}
	servers, err := d.listen(o.Registry)
	if err != nil {
		return nil, err
	}
	components := []app.Component{
		app.Part("watch", app.Always, watcher.Run),
		app.Part("ReschedulingPlans", app.Always, keeper.Run),
		{Name: "usage", When: app.Always, Run: func(ctx context.Context) error {
			return events.Run(ctx, func(ctx context.Context) { feed.Run(ctx, watcher.WaitForSync) })
		}},
		app.Part("plans", app.Leading, l.run),
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

// requests ask for nodes, if that is configured.
func requests(o *Options, a *api) *scaleup.Requests {
	settings := o.Config.Rescheduler.ScaleUp.ProvisioningRequest
	if settings.ClassName == "" {
		return nil
	}
	return scaleup.NewRequests(scaleup.RequestOptions{
		Logger: o.Logger, Clock: clock.RealClock{}, Core: a.leader, Objects: a.objects,
		ClassName: settings.ClassName, Parameters: settings.Parameters,
	})
}

// desk is where the process is asked: about plans, and to separate pods.
type desk struct {
	log    *slog.Logger
	config *config.Configuration
	about  *inspect.Process
	loop   *loop
	client kubernetes.Interface
	synced func() bool
	open   app.Listen
}
