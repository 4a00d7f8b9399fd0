// Package watch keeps a view of a cluster up to date with what an API server shows.
//
// A [Watcher] follows each resource with an informer and applies the events to a [cluster.Cluster] one after the other. Custom
// resources may be defined, and vanish, while it runs.
package watch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"

	"muster.dev/muster/cluster"
)

const (
	// slowSync is how often a resource is named whose initial list is outstanding.
	slowSync = 10 * time.Second
	// syncPoll is how often WaitForSync looks.
	syncPoll = 20 * time.Millisecond
)

// Options of a Watcher.
type Options struct {
	Logger     *slog.Logger          // required
	Registerer prometheus.Registerer // required
	Client     kubernetes.Interface  // required, made with [cluster.ClientConfig] where memory matters
	// Jobs says to follow Jobs too, where that is allowed: who moves pods reads them, and who asks to what pods belong.
	Jobs bool

	// Optional are resources of PodGroups to follow where the cluster has them: they
	// may appear later and vanish again. See [cluster.Objects.Custom].
	Optional []schema.GroupVersionResource
	// Handled are such custom resources, too, whose objects the view does not keep.
	Handled map[schema.GroupVersionResource]cluster.CustomHandler
	// FindOwner is required for a view that is live and has an Affiliator.
	FindOwner cluster.FindOwner
	// Dynamic and Metadata are required when there is something Optional or Handled, and Metadata
	// for CatchUp.
	Dynamic  dynamic.Interface
	Metadata metadata.Interface
}

// Watcher feeds a view of a cluster from an API server. Its methods are safe for
// concurrent use.
type Watcher struct {
	log      *slog.Logger
	feeds    []*feed
	optional *optionalFeeds        // nil when nothing is optional
	asking   func(context.Context) // asks for owners of pods; nil when there is nothing to ask
	metadata metadata.Interface    // may be nil
}

// New returns a Watcher that does nothing until it is run. It registers its metrics, so a Registerer serves one Watcher.
func New(c *cluster.Cluster, o Options) (*Watcher, error) {
	w := &Watcher{log: o.Logger, metadata: o.Metadata}
	troubled := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "muster_cluster_watch_errors_total",
		Help: "Lists and watches that the API server refused or did not answer, by resource.",
	}, []string{"resource"})
	follow := func(s source) (*feed, error) { return newFeed(s, o.Logger, troubled) }
	for _, s := range sources(o) {
		s.client = o.Client
		s.watched = c.Owners.Hearing(s.example)
		s.set = func(object apiObject) { w.applied(c.Set(object)) }
		s.remove = func(object apiObject) { w.applied(c.Delete(object)) }
		f, err := follow(s)
		if err != nil {
			return nil, err
		}
		w.feeds = append(w.feeds, f)
	}
	if c.Owners.Asks() {
		if o.FindOwner == nil {
			return nil, errors.New("owners of pods need a function that finds them")
		}
		w.asking = func(ctx context.Context) { c.Owners.Ask(ctx, o.FindOwner) }
	}
	if len(o.Optional)+len(o.Handled) > 0 {
		if o.Dynamic == nil || o.Metadata == nil {
			return nil, errors.New("optional resources need a dynamic and a metadata client")
		}
		var err error
		if w.optional, err = newOptionalFeeds(c, o, follow); err != nil {
			return nil, err
		}
	}
	if err := o.Registerer.Register(troubled); err != nil {
		return nil, fmt.Errorf("register the metrics of the watch: %w", err)
	}
	return w, nil
}

// Run feeds the cluster until the context ends. When it returns, nothing that
// it started is left running. A Watcher can be run once.
func (w *Watcher) Run(ctx context.Context) {
	var group sync.WaitGroup
	defer group.Wait()
	for _, f := range w.feeds {
		group.Go(func() { f.informer.RunWithContext(ctx) })
	}
	if w.optional != nil {
		group.Go(func() { w.optional.run(ctx) })
	}
	if w.asking != nil {
		group.Go(func() { w.asking(ctx) })
	}
	w.nameTheSlow(ctx)
}

// Synced reports whether the cluster has taken in the initial list of every resource.
// Optional ones count when the cluster has them and muster may read them. It
// stays true while the API server is away.
func (w *Watcher) Synced() bool { return len(w.outstanding()) == 0 }

// WaitForSync waits until Synced. The error, when the context ends before,
// names the resources that are outstanding.
func (w *Watcher) WaitForSync(ctx context.Context) error {
	err := wait.PollUntilContextCancel(ctx, syncPoll, true, func(context.Context) (bool, error) { return w.Synced(), nil })
	if err != nil {
		return fmt.Errorf("wait for the initial lists of %s: %w", strings.Join(w.outstanding(), ", "), err)
	}
	return nil
}

// outstanding names the resources that keep Synced from being true.
func (w *Watcher) outstanding() []string {
	var resources []string
	for _, f := range w.feeds {
		if !f.synced() {
			resources = append(resources, f.resource)
		}
	}
	if w.optional != nil {
		resources = append(resources, w.optional.outstanding()...)
	}
	return resources
}

func (w *Watcher) nameTheSlow(ctx context.Context) {
	ticker := time.NewTicker(slowSync)
	defer ticker.Stop()
	for !w.Synced() {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for _, resource := range w.outstanding() {
			w.log.Warn("still waiting for the initial list of a resource", slog.String("resource", resource))
		}
	}
}

// applied logs an event that the view did not take.
func (w *Watcher) applied(err error) {
	if err != nil {
		w.log.Error("cannot apply an event", slog.Any("err", err))
	}
}
