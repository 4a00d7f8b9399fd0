package cluster

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// Options of a Cluster.
type Options struct {
	Logger     *slog.Logger          // required
	Registerer prometheus.Registerer // required
	// AssumeTTL is how long an assumed pod is counted on its node while the
	// watch neither confirms nor refutes it. Required.
	AssumeTTL time.Duration
	// Clock is that of assumptions, the real one by default.
	Clock clock.WithDelayedExecution
}

// Cluster holds the state of the cluster and publishes snapshots of it. All
// methods are safe for concurrent use; changes are applied one at a time.
type Cluster struct {
	log       *slog.Logger
	assumeTTL time.Duration
	clock     clock.WithDelayedExecution
	metrics   *metrics

	// stale says that the published snapshot lacks a change.
	stale     atomic.Bool
	published atomic.Pointer[Snapshot]

	mu         sync.Mutex // serialises writers; guards everything below
	generation uint64
	freed      uint64 // the last generation of a change that freed room unseen
	unforeseen uint64 // and of one that no assumption accounts for
	journal    journal

	nodes        nodeTableWriter
	domains      *domainsWriter
	index        map[string]int32
	indexChanged bool
	free         []int32 // indexes of removed nodes

	placed    map[types.UID]place           // pods on a node, assumed ones included
	assumed   map[types.UID]*assumption     // the part of placed that the watch has not shown
	expected  map[types.UID]*expectation    // pods that are about to be placed
	pending   map[types.UID]*Pod            // pods without a node
	nominated map[types.UID]*Pod            // those of them that wait and have a nominated node
	orphans   map[string]map[types.UID]*Pod // placed pods whose node is not known
	csi       map[string]*storagev1.CSINode // by node name, known node or not
	usage     map[string]*Usage             // as csi

	followers    followers[PodEvent] // of pending pods
	podFollowers followers[PodState] // of all pods
	awaited      map[types.UID]*arrival

	objects        *objectsWriter
	objectsChanged bool
}

// place is where a pod counts.
type place struct {
	pod  *Pod
	node string
}

// New returns an empty cluster. Fill it with Set and Delete, from informers
// (see [Watcher]) or from a dump (see [Cluster.Load]).
func New(o Options) *Cluster {
	c := &Cluster{
		log:       o.Logger,
		assumeTTL: o.AssumeTTL,
		clock:     o.Clock,
		domains:   newDomainsWriter(),
		index:     map[string]int32{},
		placed:    map[types.UID]place{},
		assumed:   map[types.UID]*assumption{},
		expected:  map[types.UID]*expectation{},
		pending:   map[types.UID]*Pod{},
		nominated: map[types.UID]*Pod{},
		orphans:   map[string]map[types.UID]*Pod{},
		csi:       map[string]*storagev1.CSINode{},
		usage:     map[string]*Usage{},
		awaited:   map[types.UID]*arrival{},
		objects:   newObjectsWriter(),
	}
	if c.clock == nil {
		c.clock = clock.RealClock{}
	}
	c.indexChanged, c.objectsChanged = true, true
	c.stale.Store(true)
	c.metrics = newMetrics(o.Registerer, c)
	return c
}

// Snapshot returns the present state. It is cheap: nothing is copied unless
// something changed, and then only what did.
func (c *Cluster) Snapshot() *Snapshot {
	if !c.stale.Load() {
		return c.published.Load()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.publish()
}

func (c *Cluster) publish() *Snapshot {
	last := c.published.Load()
	if !c.stale.Load() {
		return last
	}
	next := &Snapshot{Generation: c.generation, Freed: c.freed, Unforeseen: c.unforeseen, nodes: c.nodes.publish()}
	var anew bool
	if next.domains, anew = c.domains.publish(&next.nodes); anew {
		c.journal.forget(c.generation)
	}
	next.journal = c.journal
	if c.indexChanged {
		next.NodeNames, c.indexChanged = newNodeNames(c.index, c.nodes.end), false
	} else {
		next.NodeNames = last.NodeNames
	}
	if c.objectsChanged {
		next.Objects, c.objectsChanged = c.objects.publish(), false
	} else {
		next.Objects = last.Objects
	}
	c.published.Store(next)
	c.stale.Store(false)
	return next
}

// PendingPod returns the pod of that UID as the watch last showed it without a
// node, nil when it shows none.
func (c *Cluster) PendingPod(uid types.UID) *Pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pending[uid]
}

// FindPod returns a pod by its name, with or without a node, nil when there is none.
// It looks at every pod and is meant for people who ask.
func (c *Cluster) FindPod(name types.NamespacedName) *Pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, pod := range c.pending {
		if key(pod) == name {
			return pod
		}
	}
	for _, place := range c.placed {
		if key(place.pod) == name && !place.pod.Held {
			return place.pod
		}
	}
	return nil
}

// record enters a change of a node in the journal. The caller holds the lock and has
// applied the change.
func (c *Cluster) record(node int32, aspects Aspect) {
	c.enter(Change{Node: node, Aspects: aspects})
	if aspects&AspectLabels != 0 {
		c.domains.changed.Insert(node)
	}
}

// recordObject is record for an object that is part of no node.
func (c *Cluster) recordObject(aspect Aspect, object types.NamespacedName) {
	c.enter(Change{Node: -1, Aspects: aspect, Object: object})
	c.objectsChanged = true
}

func (c *Cluster) enter(change Change) {
	c.generation++
	change.Generation = c.generation
	c.journal.append(change)
	c.stale.Store(true)
}

// replace puts a new state in the place of a node.
func (c *Cluster) replace(node *Node, aspects Aspect) {
	c.nodes.set(node.Index, node)
	c.record(node.Index, aspects)
}

// surprise is replace for a change that no assumption accounts for.
func (c *Cluster) surprise(node *Node, aspects Aspect) {
	c.replace(node, aspects)
	c.unforeseen = c.generation
}

// node is the present state of a node, nil when it is not known.
func (c *Cluster) node(name string) *Node {
	if i, ok := c.index[name]; ok {
		return c.nodes.at(i)
	}
	return nil
}

func (c *Cluster) setNode(object *corev1.Node) {
	if node := c.node(object.Name); node != nil {
		if next, changed := node.withObject(object); next != node {
			c.surprise(next, changed)
		}
		return
	}
	index := int32(len(c.index)) //nolint:gosec // a cluster has fewer than 2³¹ nodes
	if last := len(c.free) - 1; last >= 0 {
		index, c.free = c.free[last], c.free[:last]
	}
	node := newNode(object, index)
	node.CSI, node.Usage, node.Joined = c.csi[object.Name], c.usage[object.Name], c.generation+1
	for _, pod := range c.orphans[object.Name] {
		node = node.WithPod(pod)
	}
	delete(c.orphans, object.Name)
	c.index[object.Name], c.indexChanged = index, true
	c.surprise(node, AspectNode)
}

// removeNode forgets a node. Its pods stay on record until the watch removes
// them, and come back with a node of the same name.
func (c *Cluster) removeNode(name string) {
	node := c.node(name)
	if node == nil {
		return
	}
	for _, pod := range node.Pods {
		c.orphan(pod, name)
	}
	delete(c.index, name)
	c.indexChanged = true
	c.free = append(c.free, node.Index)
	c.nodes.set(node.Index, nil)
	c.record(node.Index, AspectNode)
}

func (c *Cluster) setCSINode(object *storagev1.CSINode) {
	c.csi[object.Name] = object
	c.changeCSI(object.Name, object)
}

func (c *Cluster) removeCSINode(name string) {
	delete(c.csi, name)
	c.changeCSI(name, nil)
}

func (c *Cluster) changeCSI(name string, object *storagev1.CSINode) {
	if node := c.node(name); node != nil {
		next := *node
		next.CSI = object
		c.surprise(&next, AspectCSI)
	}
}
