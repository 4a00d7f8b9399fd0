package app

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	slov1alpha1 "muster.dev/muster/api/slo/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/loadaware"
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

// UsageOptions say more of how usage is read. Options are required unless they say otherwise.
type UsageOptions struct {
	// Expirations are the ages of figures that matter to somebody besides the profiles. There may be none.
	Expirations []time.Duration
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

// Usage brings what nodes use into the view, and writes the events of a process.
type Usage struct {
	*usage.Feed

	// Handled has who takes the custom resources that are to be watched.
	Handled map[schema.GroupVersionResource]cluster.CustomHandler
	events  *Events
}

// NoUsage returns the Usage of a view that has it already.
func NoUsage() *Usage {
	return &Usage{Feed: &usage.Feed{}, Handled: map[schema.GroupVersionResource]cluster.CustomHandler{}, events: NoEvents()}
}

// NewUsage sets up the source of usage that the configuration names.
func NewUsage(b *Base, a *API, o UsageOptions) (*Usage, error) {
	u := &Usage{Handled: map[schema.GroupVersionResource]cluster.CustomHandler{}, events: o.Events}
	var err error
	u.Feed, err = usage.New(usage.Options{
		Logger: b.Logger, Clock: clock.RealClock{}, Registerer: b.Registry, Cluster: b.Cluster, Load: &b.Config.Load,
		Expirations: slices.Concat(loadaware.Expirations(b.Config.Profiles), o.Expirations), Durations: loadaware.Durations(b.Config.Profiles),
		RESTConfig: a.Connection, NodeMetrics: o.NodeMetrics, Followers: o.Followers, Events: o.Events.Recorder(),
		About: &corev1.ObjectReference{
			APIVersion: "coordination.k8s.io/v1", Kind: "Lease", Namespace: b.Config.LeaderElection.ResourceNamespace, Name: o.Lease,
		},
	})
	if err != nil {
		return nil, err
	}
	if u.NodeMetrics || o.Watches {
		u.Handled[slov1alpha1.NodeMetrics()] = o.NodeMetrics.Handler(u.Watched)
	}
	return u, nil
}

// Component keeps usage up to date. A replica that does not lead reads it as well, and so has it when it comes to
// lead. wait returns when the view of the cluster is complete.
func (u *Usage) Component(wait func(context.Context) error) Component {
	return Component{Name: "usage", When: Always, Run: func(ctx context.Context) error {
		return u.events.Run(ctx, func(ctx context.Context) { u.Run(ctx, wait) })
	}}
}
