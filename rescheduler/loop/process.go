package loop

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config/v1alpha2"
	reschedulingv1alpha1 "muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/api/scheduling/v1alpha1"
	slov1alpha1 "muster.dev/muster/api/slo/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/inspect"
	"muster.dev/muster/loadaware"
	"muster.dev/muster/loadaware/nodemetric"
	"muster.dev/muster/loadaware/usage"
	"muster.dev/muster/predicates"
	"muster.dev/muster/rescheduler/executor"
	"muster.dev/muster/rescheduler/holes"
	"muster.dev/muster/rescheduler/policy"
	"muster.dev/muster/rescheduler/scaleup"
	"muster.dev/muster/server/access"
	"muster.dev/muster/server/leadership"
)

// Options of the process. The first three are required.
type Options struct {
	Config     *v1alpha2.MusterConfiguration
	RESTConfig *rest.Config
	Logger     *slog.Logger
	// Version and Flags of the command line are what /statusz and /flagz show.
	Version string
	Flags   map[string]string
	// Registry takes the metrics and shows them at /metrics; nil stands for a new one.
	Registry inspect.Registry
}

// reporter is who writes events.
const reporter = "muster-rescheduler"

// process is all of it, wired.
type process struct {
	log       *slog.Logger
	config    *v1alpha2.MusterConfiguration
	about     *inspect.Process
	candidate *leadership.Candidate
	client    kubernetes.Interface
	watcher   *cluster.Watcher
	events    events.EventBroadcaster
	usage     *usage.Feed
	holes     *holes.Keeper
	loop      *loop
	servers   []*access.Server
}

// Run reschedules until the context ends, or the lease is lost.
func Run(ctx context.Context, o Options) error {
	p, err := newProcess(o)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { p.watcher.Run(ctx); return nil })
	group.Go(func() error { p.holes.Run(ctx); return nil })
	group.Go(func() error { p.usage.Run(ctx, p.watcher.WaitForSync); return nil })
	for _, s := range p.servers {
		group.Go(func() error { return s.Run(ctx) })
	}
	group.Go(func() error { return p.lead(ctx) })
	return group.Wait()
}

func newProcess(o Options) (*process, error) {
	registry := o.Registry
	if registry == nil {
		registry = prometheus.NewRegistry()
	}
	inspect.RegisterRuntime(registry)
	c := cluster.New(cluster.Options{Logger: o.Logger, Registerer: registry, AssumeTTL: o.Config.Timeouts.Assume.Duration})
	load := loadaware.Options{Logger: o.Logger, Metrics: loadaware.NewMetrics(registry)}
	profiles, err := newProfiles(o, c, load, registry)
	if err != nil {
		return nil, err
	}
	p := &process{log: o.Logger, config: o.Config}
	if err := p.runFor(o, registry); err != nil {
		return nil, err
	}
	p.about = &inspect.Process{Name: reporter, Version: o.Version, Clock: clock.RealClock{}, Started: time.Now(), Flags: o.Flags}
	if p.client, err = kubernetes.NewForConfig(cluster.ClientConfig(o.RESTConfig)); err != nil {
		return nil, fmt.Errorf("clientConnection: %w", err)
	}
	// What only the leader may write goes through the fence.
	guarded := p.candidate.Fence().Guard(o.RESTConfig)
	leader, err := kubernetes.NewForConfig(cluster.ClientConfig(guarded))
	if err != nil {
		return nil, fmt.Errorf("clientConnection: %w", err)
	}
	objects, err := dynamic.NewForConfig(guarded)
	if err != nil {
		return nil, fmt.Errorf("clientConnection: %w", err)
	}
	definitions, err := metadata.NewForConfig(o.RESTConfig)
	if err != nil {
		return nil, fmt.Errorf("clientConnection: %w", err)
	}
	settings := &o.Config.Rescheduler
	client := executor.NewClient(leader, objects)
	p.events = events.NewBroadcaster(&events.EventSinkImpl{Interface: p.client.EventsV1()})
	expirations := loadaware.Expirations(o.Config.Profiles)
	var hot *policy.Hot
	if settings.Relieve.Enabled {
		meter := policy.NewMeter(o.Config, load)
		hot = policy.NewHot(&settings.Relieve, meter)
		expirations = append(expirations, meter.Expiration())
	}
	p.loop = &loop{
		log:      o.Logger,
		clock:    clock.RealClock{},
		config:   settings,
		cluster:  c,
		profiles: profiles,
		writer:   client,
		metrics:  newMetrics(registry),
		changed:  make(chan struct{}, 1),
		policies: policy.All(settings, hot),
		hot:      hot,
		limits:   limits(settings),
		rules:    rules(settings),
		runs:     map[reschedulingv1alpha1.Policy]run{},
	}
	p.holes = holes.New(holes.Options{Logger: o.Logger, Clock: clock.RealClock{}, Cluster: c, Profiles: profiles, Changed: p.loop.ring})
	p.loop.holes = p.holes
	registry.MustRegister(newPlansByPhase(p.holes))
	p.loop.executor = executor.New(executor.Options{
		Logger: o.Logger, Clock: clock.RealClock{}, Cluster: c, Profiles: profiles, Holes: p.holes, Client: client,
		Events: p.events.NewRecorder(scheme.Scheme, reporter), Metrics: executor.NewMetrics(registry), Rules: p.loop.rules, Limits: p.loop.limits,
		Mode: settings.Mode, Mark: settings.Coalesce.Mark,
	})
	p.loop.teller = scaleup.New(scaleup.Options{
		Logger: o.Logger, Registerer: registry, Clock: clock.RealClock{}, Cluster: c, Client: scaleup.NewClient(leader.CoreV1().RESTClient()),
		Events: p.events.NewRecorder(scheme.Scheme, reporter), Requests: p.requests(leader, objects),
	})
	registry.MustRegister(executor.NewBudgetLeft(p.loop.executor))
	handled, err := p.readUsage(o, c, expirations, registry)
	if err != nil {
		return nil, err
	}
	handled[reschedulingv1alpha1.ReschedulingPlans()] = p.holes.Handler()
	if p.watcher, err = cluster.NewWatcher(c, cluster.WatchOptions{
		Client: p.client, Optional: v1alpha1.Resources(), Dynamic: objects, Metadata: definitions, Handled: handled,
	}); err != nil {
		return nil, err
	}
	return p, p.listen(registry)
}

// readUsage sets up the source of usage, as the extender does, and returns who takes the custom
// resources that it needs.
func (p *process) readUsage(
	o Options, c *cluster.Cluster, expirations []time.Duration, registry prometheus.Registerer,
) (map[schema.GroupVersionResource]cluster.CustomHandler, error) {
	nodeMetrics := nodemetric.NewStore()
	var err error
	p.usage, err = usage.New(usage.Options{
		Logger: o.Logger, Clock: clock.RealClock{}, Registerer: registry, Cluster: c,
		Load: &o.Config.Load, Expirations: expirations, RESTConfig: o.RESTConfig, NodeMetrics: nodeMetrics,
		Events: p.events.NewRecorder(scheme.Scheme, reporter),
		About: &corev1.ObjectReference{
			APIVersion: "coordination.k8s.io/v1", Kind: "Lease", Namespace: o.Config.LeaderElection.ResourceNamespace, Name: p.lease(),
		},
	})
	handled := map[schema.GroupVersionResource]cluster.CustomHandler{}
	if err == nil && p.usage.NodeMetrics {
		handled[slov1alpha1.NodeMetrics()] = nodeMetrics.Handler(p.usage.Watched)
	}
	return handled, err
}

// requests ask for nodes, if that is configured.
func (p *process) requests(leader kubernetes.Interface, objects dynamic.Interface) *scaleup.Requests {
	settings := p.config.Rescheduler.ScaleUp.ProvisioningRequest
	if !settings.Enabled {
		return nil
	}
	return scaleup.NewRequests(p.log, leader, objects, settings.ClassName)
}

// newProfiles makes those of the configuration, as the extender does. Kube-scheduler's scores
// are among theirs: they tell where it would rather have a pod.
func newProfiles(o Options, c *cluster.Cluster, load loadaware.Options, registry prometheus.Registerer) (*predicates.Profiles, error) {
	metrics := predicates.NewStoreMetrics(registry)
	var stores []*predicates.VerdictStore
	for i := range o.Config.Profiles {
		config := o.Config.Profiles[i].WithSchedulerScores()
		var plugins []predicates.Plugin
		if loadaware.Runs(config) {
			plugins = append(plugins, loadaware.New(config, load).Plugin())
		}
		profile, err := predicates.NewProfile(config, plugins...)
		if err != nil {
			return nil, fmt.Errorf("profiles[%d]: %w", i, err)
		}
		stores = append(stores, predicates.NewVerdictStore(profile, c, o.Config.VerdictStore.MaxBytes, metrics, clock.RealClock{}))
	}
	return predicates.NewProfiles(stores...), nil
}

// ring has the loop look at the plans.
func (l *loop) ring() {
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// lease is the name of the Lease of those who may reschedule.
func (p *process) lease() string { return p.config.LeaderElection.ResourceName + "-rescheduler" }

// lead runs for the lease, and reschedules while it is held. To lose it is an error: the
// process must end, as another one may act already.
func (p *process) lead(ctx context.Context) error {
	if err := p.events.StartRecordingToSinkWithContext(ctx); err != nil {
		return fmt.Errorf("record events: %w", err)
	}
	defer p.events.Shutdown()
	if err := p.watcher.WaitForSync(ctx); err != nil {
		return nil // it was asked to stop
	}
	return p.candidate.Run(ctx, func(leading context.Context, _ leadership.Term) (clean bool, err error) {
		p.log.Info("leading")
		p.loop.run(leading)
		return true, nil
	})
}

// runFor has this process act only while it has the lease.
func (p *process) runFor(o Options, registry prometheus.Registerer) error {
	leases, err := leadership.NewLeaseClient(o.RESTConfig, o.Config.LeaderElection)
	if err != nil {
		return fmt.Errorf("clientConnection: %w", err)
	}
	p.candidate, err = leadership.New(leadership.Options{
		Registerer: registry, Clock: clock.RealClock{}, Leases: leases, Config: o.Config.LeaderElection, Name: p.lease(),
	})
	return err
}
