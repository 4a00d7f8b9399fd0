package usage

import (
	"io"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/slo/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/loadaware/nodemetric"
	"muster.dev/muster/loadaware/source"
)

// Load is [cluster.Cluster.Load] of dumps in which NodeMetrics count as well, and more kinds. A dump is looked at
// when the latest of them was taken: one that was much older then has expired, whenever that
// was.
func Load(c *cluster.Cluster, log *slog.Logger, paths []string, stdin io.Reader, more ...cluster.CustomKind) (*cluster.Loaded, error) {
	latest := &reports{byNode: map[string]*cluster.Usage{}}
	store := nodemetric.NewStore()
	store.ReportTo(latest, log, source.NewRefusals(log, nil, string(config.LoadSourceNodeMetric)))
	loaded, err := c.Load(paths, stdin, append(more, cluster.CustomKind{
		Kind:    schema.GroupVersionKind{Group: v1alpha1.Group, Version: v1alpha1.Version, Kind: v1alpha1.Kind},
		Handler: store.Handler(func(error) {}), Resource: v1alpha1.NodeMetrics(),
	})...)
	for node, usage := range latest.byNode {
		usage.Seen = latest.at
		c.SetUsage(node, usage)
	}
	return loaded, err
}

// reports are the usages of nodes, by name, and the time of the latest measurement.
type reports struct {
	byNode map[string]*cluster.Usage
	at     time.Time
}

// Report implements source.Follower.
func (r *reports) Report(node string, usage *cluster.Usage) {
	seen := *usage
	r.byNode[node] = &seen
	if usage.Updated.After(r.at) {
		r.at = usage.Updated
	}
}
