// Package nodemetric reads, configures and fills in NodeMetrics.
//
//	watch ──Trim──→ Observed ──→ Source ──→ a follower of usage
//	                    └──────→ Controller ──→ spec       (of the leader, on request)
//	         another source ───→ Reporter ────→ status     (of the leader, on request)
//
// A NodeMetric is kept as what is read of it, an [Observed]: its spec, and its status as a
// [cluster.Usage].
//
// The [Controller] has a NodeMetric for each node. The [Policy] of a ConfigMap says its spec for that node. It
// writes no status. The [Reporter] writes nothing else. A NodeMetric that nobody reports for keeps pods off its
// node, so a cluster without koordlet needs both.
package nodemetric

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/slo/v1alpha1"
	"muster.dev/muster/cluster"
)

const (
	workers = 4
	// lookEvery is how often it is looked which nodes changed.
	lookEvery = 500 * time.Millisecond
	// backoff is when a write that failed is tried again. It doubles each time.
	backoff, maxBackoff = 100 * time.Millisecond, 30 * time.Second
)

// ControllerOptions are the options of a Controller. All are required.
type ControllerOptions struct {
	Logger  *slog.Logger
	Clock   clock.WithTicker
	Metrics *Metrics
	Cluster *cluster.Cluster
	Store   *Store
	Core    kubernetes.Interface
	Dynamic dynamic.Interface
	Events  events.EventRecorder
	// Namespace is where the ConfigMap is.
	Namespace string
}

// Controller has a NodeMetric for each node, with the spec that the ConfigMap's policy says, and deletes
// NodeMetrics of nodes that are gone. It reads and writes no status.
type Controller struct {
	ControllerOptions
	nodes dynamic.ResourceInterface
	queue workqueue.TypedRateLimitingInterface[string] // of names of nodes

	mu     sync.Mutex
	policy *Policy // nil until it is known
}

// NewController returns a Controller, which must be run: that also ends what NewController
// starts.
func NewController(o ControllerOptions) *Controller {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](backoff, maxBackoff)
	c := &Controller{
		ControllerOptions: o, nodes: o.Dynamic.Resource(v1alpha1.NodeMetrics()),
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[string]{Clock: o.Clock}),
	}
	o.Store.Follow(func(node string, observed *Observed) {
		// Most changes are of status, and nothing of that is to be done.
		if observed == nil || c.differs(node, observed) {
			c.queue.Add(node)
		}
	})
	return c
}

// Run keeps NodeMetrics as they should be until the context ends. The view of the cluster must
// be complete, as nodes that are not in it are gone. It is for one process at a time.
func (c *Controller) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	defer c.queue.ShutDown()
	running.Go(func() { c.followConfig(ctx) })
	for range workers {
		running.Go(func() {
			for c.work(ctx) {
			}
		})
	}
	tick := c.Clock.NewTicker(lookEvery)
	defer tick.Stop()
	var seen uint64
	for {
		seen = c.look(seen)
		select {
		case <-ctx.Done():
			return
		case <-tick.C():
		}
	}
}

// look has nodes looked at that came, went or changed their labels since a generation of the
// view, and returns the present one.
func (c *Controller) look(since uint64) uint64 {
	snap := c.Cluster.Snapshot()
	changes, complete := snap.Since(since)
	if since == 0 || !complete {
		c.lookAtAll()
		return snap.Generation
	}
	gone := false
	for _, change := range changes {
		if change.Node < 0 || change.Aspects&cluster.AspectLabels == 0 {
			continue
		}
		if node := snap.Node(change.Node); node != nil {
			c.queue.Add(node.Name)
		}
		gone = gone || change.Aspects == cluster.AspectNode
	}
	if gone { // the journal does not say which one
		c.lookAtAll()
	}
	return snap.Generation
}

// lookAtAll has all nodes and NodeMetrics looked at.
func (c *Controller) lookAtAll() {
	for node := range c.Cluster.Snapshot().Nodes() {
		c.queue.Add(node.Name)
	}
	for _, node := range c.Store.Names() {
		c.queue.Add(node)
	}
}

// apply has a policy followed from now on.
func (c *Controller) apply(policy *Policy) {
	c.mu.Lock()
	c.policy = policy
	c.mu.Unlock()
	c.lookAtAll()
}

// wanted returns the spec that a node's NodeMetric is to have, nil when there is to be none; false when that is
// not known yet.
func (c *Controller) wanted(name string) (policy *v1alpha1.NodeMetricCollectPolicy, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.policy == nil {
		return nil, false
	}
	node := c.Cluster.Snapshot().NodeByName(name)
	if node == nil {
		return nil, true
	}
	return c.policy.For(node.Labels), true
}

// differs reports whether a NodeMetric is not as it is to be.
func (c *Controller) differs(name string, observed *Observed) bool {
	policy, known := c.wanted(name)
	return known && (observed.Err != nil || !equality.Semantic.DeepEqual(observed.Spec.CollectPolicy, policy))
}

// work sets the next NodeMetric right, and returns false when there will be none.
func (c *Controller) work(ctx context.Context) bool {
	node, ended := c.queue.Get()
	if ended {
		return false
	}
	defer c.queue.Done(node)
	switch err := c.sync(ctx, node); {
	case ctx.Err() != nil:
		return false
	case err == nil:
		c.queue.Forget(node)
	default:
		c.Logger.Warn("cannot write a NodeMetric", slog.String("node", node), slog.Any("err", err))
		c.queue.AddRateLimited(node)
	}
	return true
}

func (c *Controller) sync(ctx context.Context, node string) error {
	policy, known := c.wanted(node)
	observed := c.Store.Get(node)
	var err error
	what := ""
	switch {
	case !known:
	case policy == nil && observed != nil:
		what = deleted
		err = c.nodes.Delete(ctx, node, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(observed.UID))})
		if apierrors.IsNotFound(err) {
			err = nil
		}
	case policy != nil && observed == nil:
		what = created
		if err = c.create(ctx, node, policy); apierrors.IsAlreadyExists(err) {
			return nil // the watch will show it
		}
	case policy != nil && c.differs(node, observed):
		what = specced
		err = c.patch(ctx, node, policy)
	}
	if err == nil && what != "" {
		c.Metrics.writes.WithLabelValues(what).Inc()
	}
	return err
}

func (c *Controller) create(ctx context.Context, node string, policy *v1alpha1.NodeMetricCollectPolicy) error {
	spec, err := asMap(v1alpha1.NodeMetricSpec{CollectPolicy: policy})
	if err != nil {
		return err
	}
	metric := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.Group + "/" + v1alpha1.Version,
		"kind":       v1alpha1.Kind,
		"metadata":   map[string]any{"name": node},
		"spec":       spec,
	}}
	_, err = c.nodes.Create(ctx, metric, metav1.CreateOptions{FieldManager: cluster.FieldManager})
	return err
}

// patch writes the part of a spec that is ours, and leaves the rest alone.
func (c *Controller) patch(ctx context.Context, node string, policy *v1alpha1.NodeMetricCollectPolicy) error {
	patch, err := json.Marshal(map[string]any{"spec": v1alpha1.NodeMetricSpec{CollectPolicy: policy}})
	if err != nil {
		return err
	}
	_, err = c.nodes.Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: cluster.FieldManager})
	if apierrors.IsNotFound(err) {
		return nil // the watch will show that it is gone
	}
	return err
}

func asMap(value any) (fields map[string]any, err error) {
	data, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(data, &fields)
	}
	return fields, err
}
