// Package usage brings what nodes use into the view of a cluster, from the one source that
// the configuration names. It is the same for all who judge nodes by what they use: the
// extender, the rescheduler and plans that are only shown.
package usage

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	metricsv1beta1 "k8s.io/metrics/pkg/client/clientset/versioned/typed/metrics/v1beta1"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/loadaware"
	"muster.dev/muster/loadaware/nodemetric"
	"muster.dev/muster/loadaware/source"
)

// Options of a Feed. Options that do not say otherwise are required.
type Options struct {
	Logger     *slog.Logger
	Clock      clock.WithTicker
	Registerer prometheus.Registerer
	Cluster    *cluster.Cluster
	// Load names the source, and says how it is read.
	Load *config.NodeLoad
	// Expirations are the ages of figures that matter to somebody, as of
	// [loadaware.Expirations]. There may be none.
	Expirations []time.Duration
	// Durations are the times that somebody goes by statistics over, as of [loadaware.Durations]. There may be none.
	Durations []time.Duration
	// RESTConfig is the way to the API server.
	RESTConfig *rest.Config
	// NodeMetrics are the NodeMetric objects of the cluster. They are read where the source is NodeMetric; any
	// other source has the statistics that they ask for.
	NodeMetrics *nodemetric.Store
	// Events and what they are about: none are written when nil.
	Events events.EventRecorder
	About  runtime.Object
	// Followers are told what a source says that is polled, besides the view.
	Followers []source.Follower
}

// Feed brings usage into the view. Without a source it does nothing.
type Feed struct {
	// Keeper and Health are nil without a source.
	Keeper *source.Keeper
	Health *source.Health
	// NodeMetrics says that the source is the watch on NodeMetrics.
	NodeMetrics bool

	poller    *source.Poller // nil where nothing is polled
	durations atomic.Pointer[[]time.Duration]
}

// New makes the feed of a valid configuration. It must be run.
func New(o Options) (*Feed, error) {
	f := &Feed{}
	f.durations.Store(&o.Durations)
	if o.Load.Source == config.LoadSourceNone {
		return f, nil
	}
	f.Keeper = source.NewKeeper(source.KeeperOptions{Clock: o.Clock, Registerer: o.Registerer, Cluster: o.Cluster, Expirations: o.Expirations})
	f.Health = source.NewHealth(source.HealthOptions{
		Logger: o.Logger, Clock: o.Clock, Registerer: o.Registerer, Source: string(o.Load.Source), Events: o.Events, About: o.About,
	})
	switch o.Load.Source {
	case config.LoadSourceNone: // as above
	case config.LoadSourceNodeMetric:
		f.NodeMetrics = true
		o.NodeMetrics.ReportTo(f.Keeper, o.Logger, f.Health.Refusals)
	case config.LoadSourceMetrics:
		client, err := metricsv1beta1.NewForConfig(cluster.ClientConfig(o.RESTConfig))
		if err != nil {
			return nil, fmt.Errorf("clientConnection: %w", err)
		}
		f.poll(o, source.NewMetricsAPI(client), 0)
	case config.LoadSourcePrometheus:
		reader, err := source.NewPrometheus(o.Load.Prometheus, o.Load.Interval.Duration)
		if err != nil {
			return nil, err
		}
		f.poll(o, reader, leastTimeout)
	}
	return f, nil
}

// leastTimeout is how long the answers of one look at Prometheus may take together, at least: instant queries take
// milliseconds, and subqueries of a large cluster some seconds.
const leastTimeout = 10 * time.Second

// poll looks in every interval. The answers of a look may take until the next one, or a time if that is longer.
func (f *Feed) poll(o Options, reader source.Reader, timeout time.Duration) {
	interval := o.Load.Interval.Duration
	f.poller = source.NewPoller(source.PollerOptions{
		Clock: o.Clock, Cluster: o.Cluster, Reader: reader, Health: f.Health, Interval: interval, Timeout: max(interval, timeout),
		Priority: loadaware.PriorityClass, Followers: append([]source.Follower{f.Keeper}, o.Followers...),
		Durations: func(node string) []time.Duration {
			return slices.Concat(*f.durations.Load(), o.NodeMetrics.Durations(node))
		},
	})
}

// Follow has the figures be as profiles want them that are in force from now on.
func (f *Feed) Follow(profiles []config.Profile) {
	durations := loadaware.Durations(profiles)
	f.durations.Store(&durations)
	if f.Keeper != nil {
		f.Keeper.Expire(loadaware.Expirations(profiles))
	}
}

// Watched is to be told how the watch on NodeMetrics goes.
func (f *Feed) Watched(err error) {
	if f.NodeMetrics {
		f.Health.Observe(err)
	}
}

// Run keeps usage up to date until the context ends. wait is to return when the view of the
// cluster is complete; its error says that it never was.
func (f *Feed) Run(ctx context.Context, wait func(context.Context) error) {
	if f.Keeper == nil {
		return
	}
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { f.Keeper.Run(ctx) })
	switch complete := wait(ctx) == nil; {
	case !complete:
	case f.poller != nil:
		f.poller.Run(ctx)
	default:
		f.observeAbsence()
	}
}

// Look asks a source that is polled once. The view must be complete; afterwards it has what a watch on
// NodeMetrics already shows. Failures are logged, and leave usage unknown.
func (f *Feed) Look(ctx context.Context) {
	switch {
	case f.poller != nil:
		f.poller.Poll(ctx)
	case f.NodeMetrics:
		f.observeAbsence()
	}
}

// observeAbsence says that there are no NodeMetrics, unless the watch on them has said something.
func (f *Feed) observeAbsence() {
	if f.Health.Status().Since.IsZero() {
		f.Health.Observe(nodemetric.ErrUndefined)
	}
}
