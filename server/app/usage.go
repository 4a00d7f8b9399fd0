package app

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	slov1alpha1 "muster.dev/muster/api/slo/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/loadaware/nodemetric"
	"muster.dev/muster/loadaware/source"
	"muster.dev/muster/loadaware/usage"
)

// Events are written by one reporter.
type Events struct {
	reporter    string
	silent      bool
	broadcaster events.EventBroadcaster
}

// NoEvents returns Events that writes no event.
func NoEvents() *Events { return &Events{silent: true, broadcaster: events.NewBroadcaster(nil)} }

// NewEvents returns the Events of a reporter. None is written before Run.
func NewEvents(client kubernetes.Interface, reporter string) *Events {
	return &Events{reporter: reporter, broadcaster: events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})}
}

// Recorder takes events.
func (e *Events) Recorder() events.EventRecorder {
	return e.broadcaster.NewRecorder(scheme.Scheme, e.reporter)
}

// Shutdown drops what was not written, and is for events that nobody has run.
func (e *Events) Shutdown() { e.broadcaster.Shutdown() }

// Run writes events until the context ends, and runs what records them beside it.
func (e *Events) Run(ctx context.Context, records func(context.Context)) error {
	defer e.broadcaster.Shutdown()
	if !e.silent {
		if err := e.broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
			return fmt.Errorf("record events: %w", err)
		}
	}
	records(ctx)
	<-ctx.Done()
	return nil
}

// UsageOptions make a source of usage. Options are required unless they say otherwise.
type UsageOptions struct {
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Cluster    *cluster.Cluster
	Config     *config.Configuration
	RESTConfig *rest.Config
	// Expirations are the ages of figures that matter to somebody. There may be none.
	Expirations []time.Duration
	// Durations are the times that somebody goes by statistics over. There may be none.
	Durations   []time.Duration
	NodeMetrics *nodemetric.Store
	// Watches has NodeMetrics be watched though they are no source.
	Watches bool
	// Followers are told what a source says that is polled, besides the view. There may be none.
	Followers []source.Follower
	Events    *Events
	// Lease is the name of the Lease that events are about: of all that there is in the API, it stands for
	// the process as a whole.
	Lease string
}

// NewUsage sets up the source of usage, and returns who takes the custom resources that it needs.
func NewUsage(o UsageOptions) (*usage.Feed, map[schema.GroupVersionResource]cluster.CustomHandler, error) {
	feed, err := usage.New(usage.Options{
		Logger: o.Logger, Clock: clock.RealClock{}, Registerer: o.Registerer, Cluster: o.Cluster, Load: &o.Config.Load,
		Expirations: o.Expirations, Durations: o.Durations, RESTConfig: o.RESTConfig, NodeMetrics: o.NodeMetrics,
		Followers: o.Followers, Events: o.Events.Recorder(),
		About: &corev1.ObjectReference{
			APIVersion: "coordination.k8s.io/v1", Kind: "Lease", Namespace: o.Config.LeaderElection.ResourceNamespace, Name: o.Lease,
		},
	})
	if err != nil {
		return nil, nil, err
	}
	handled := map[schema.GroupVersionResource]cluster.CustomHandler{}
	if feed.NodeMetrics || o.Watches {
		handled[slov1alpha1.NodeMetrics()] = o.NodeMetrics.Handler(feed.Watched)
	}
	return feed, handled, nil
}
