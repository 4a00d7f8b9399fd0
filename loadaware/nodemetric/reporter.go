package nodemetric

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/slo/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/loadaware/source"
)

// defaultInterval is the time between two reports where the NodeMetric does not say.
const defaultInterval = time.Minute

// ReporterOptions are the options of a Reporter. All are required.
type ReporterOptions struct {
	Logger  *slog.Logger
	Clock   clock.WithTicker
	Metrics *Metrics
	Store   *Store
	Dynamic dynamic.Interface
}

// Reporter writes what another source says into the status of NodeMetrics that are there, in
// the interval that each of them says, as averages and statistics over the times that its spec asks
// for. It follows that source all the time, and writes while it runs. It writes nothing but status.
type Reporter struct {
	ReporterOptions
	nodes dynamic.ResourceInterface
	queue workqueue.TypedRateLimitingInterface[string]

	mu     sync.Mutex
	recent map[string]looks     // by node
	told   map[string]types.UID // of NodeMetrics that ask for too long a time
}

var _ source.Follower = (*Reporter)(nil)

// NewReporter returns a Reporter, which must be run: that also ends what NewReporter starts.
func NewReporter(o ReporterOptions) *Reporter {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](backoff, maxBackoff)
	r := &Reporter{
		ReporterOptions: o, nodes: o.Dynamic.Resource(v1alpha1.NodeMetrics()),
		recent: map[string]looks{}, told: map[string]types.UID{},
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[string]{Clock: o.Clock}),
	}
	o.Store.Follow(func(node string, observed *Observed) {
		if observed != nil && observed.Err == nil && observed.Usage.Updated.IsZero() {
			r.queue.Add(node) // it is new, and must not stay without figures
		}
	})
	return r
}

// Report implements source.Follower.
func (r *Reporter) Report(node string, usage *cluster.Usage) {
	observed := r.Store.Get(node)
	r.mu.Lock()
	if usage != nil {
		r.recent[node] = r.recent[node].add(usage, averagedOver(observed))
	} else {
		delete(r.recent, node)
		delete(r.told, node)
	}
	r.mu.Unlock()
	if observed != nil && due(observed, usage) {
		r.queue.Add(node)
	}
}

// averagedOver returns the time that a NodeMetric asks for averages over, 0 when it asks for none.
func averagedOver(observed *Observed) time.Duration {
	if observed == nil || observed.Spec.CollectPolicy == nil || observed.Spec.CollectPolicy.AggregateDurationSeconds == nil {
		return 0
	}
	return time.Duration(min(*observed.Spec.CollectPolicy.AggregateDurationSeconds, int64(source.LongestDuration/time.Second)+1)) * time.Second
}

// due reports whether a NodeMetric is to say what a node uses.
func due(observed *Observed, usage *cluster.Usage) bool {
	if usage == nil {
		return false
	}
	if observed.Err != nil {
		return true
	}
	interval := cmp.Or(observed.Usage.Interval, defaultInterval)
	return !usage.Updated.Truncate(time.Second).Before(observed.Usage.Updated.Add(interval))
}

// Run writes until the context ends. It is for one process at a time.
func (r *Reporter) Run(ctx context.Context) {
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for r.work(ctx) {
			}
		})
	}
	<-ctx.Done()
	r.queue.ShutDown()
	running.Wait()
}

// work writes the next status, and returns false when there will be none.
func (r *Reporter) work(ctx context.Context) bool {
	node, ended := r.queue.Get()
	if ended {
		return false
	}
	defer r.queue.Done(node)
	r.mu.Lock()
	recent := slices.Clone(r.recent[node])
	r.mu.Unlock()
	var usage *cluster.Usage
	if len(recent) > 0 {
		usage = recent[len(recent)-1]
	}
	observed := r.Store.Get(node)
	if observed == nil || !due(observed, usage) {
		r.queue.Forget(node)
		return true
	}
	r.tell(node, observed)
	switch err := r.write(ctx, node, observed, recent.average()); {
	case ctx.Err() != nil:
		return false
	case err == nil:
		r.Metrics.writes.WithLabelValues(reported).Inc()
		r.queue.Forget(node)
	case apierrors.IsNotFound(err), apierrors.IsInvalid(err): // gone, or another one of its name
		r.queue.Forget(node)
	default:
		r.Logger.Warn("cannot report to a NodeMetric", slog.String("node", node), slog.Any("err", err))
		r.queue.AddRateLimited(node)
	}
	return true
}

// tell says once of a NodeMetric that it asks for more than is remembered, or kept apart.
func (r *Reporter) tell(node string, observed *Observed) {
	wanted := r.Store.Durations(node)
	kept := source.Durations(wanted)
	slices.Sort(wanted)
	wanted = slices.DeleteFunc(slices.Compact(wanted), func(d time.Duration) bool { return slices.Contains(kept, d) })
	if over := averagedOver(observed); over > source.LongestDuration {
		wanted = append(wanted, over)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case len(wanted) == 0:
		delete(r.told, node)
	case r.told[node] != observed.UID:
		r.told[node] = observed.UID
		r.Logger.Warn("a NodeMetric asks for figures over more times, or longer ones, than are kept",
			slog.String("node", node), slog.Duration("value", slices.Max(wanted)), slog.Duration("atMost", source.LongestDuration))
	}
}

// write replaces the status of the very NodeMetric that was observed.
func (r *Reporter) write(ctx context.Context, node string, observed *Observed, usage *cluster.Usage) error {
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	patch, err := json.Marshal([]operation{
		{"test", "/metadata/uid", observed.UID},
		{"add", "/status", statusOf(usage, observed.Spec)},
	})
	if err != nil {
		return err
	}
	_, err = r.nodes.Patch(ctx, node, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: cluster.FieldManager}, "status")
	return err
}

// statusOf is usage as a NodeMetric says it, with the statistics that its spec asks for, if
// it names any.
func statusOf(usage *cluster.Usage, spec v1alpha1.NodeMetricSpec) v1alpha1.NodeMetricStatus {
	updated := metav1.NewTime(usage.Updated)
	status := v1alpha1.NodeMetricStatus{
		UpdateTime: &updated,
		NodeMetric: &v1alpha1.NodeMetricInfo{NodeUsage: resourceMap(usage.Node), SystemUsage: resourceMap(usage.System)},
	}
	over := map[time.Duration]map[v1alpha1.AggregationType]v1alpha1.ResourceMap{}
	for _, aggregate := range usage.Aggregated {
		if !asksFor(spec, aggregate.Duration) {
			continue
		}
		if over[aggregate.Duration] == nil {
			over[aggregate.Duration] = map[v1alpha1.AggregationType]v1alpha1.ResourceMap{}
		}
		over[aggregate.Duration][v1alpha1.AggregationType(aggregate.Type)] = resourceMap(aggregate.Used)
	}
	for d, values := range over {
		status.NodeMetric.AggregatedNodeUsages = append(status.NodeMetric.AggregatedNodeUsages,
			v1alpha1.AggregatedUsage{Duration: metav1.Duration{Duration: d}, Usage: values})
	}
	slices.SortFunc(status.NodeMetric.AggregatedNodeUsages, func(a, b v1alpha1.AggregatedUsage) int {
		return cmp.Compare(a.Duration.Duration, b.Duration.Duration)
	})
	for pod, figures := range usage.Pods {
		status.PodsMetric = append(status.PodsMetric, v1alpha1.PodMetricInfo{
			Namespace: pod.Namespace, Name: pod.Name, PodUsage: resourceMap(figures.Used), Priority: figures.Priority,
		})
	}
	slices.SortFunc(status.PodsMetric, func(a, b v1alpha1.PodMetricInfo) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return status
}

func asksFor(spec v1alpha1.NodeMetricSpec, d time.Duration) bool {
	if spec.CollectPolicy == nil || spec.CollectPolicy.NodeAggregatePolicy == nil {
		return true
	}
	return slices.Contains(spec.CollectPolicy.NodeAggregatePolicy.Durations, metav1.Duration{Duration: d})
}
