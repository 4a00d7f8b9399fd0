package cluster

import (
	"maps"
	"math"
	"slices"
	"time"
	"unique"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/quantity"
)

// Node is the state of one node at one generation, pods included. It is
// immutable: a change makes a new Node under the same index, so two Nodes are
// the same state exactly when their pointers are equal.
type Node struct {
	// Node is the API object, trimmed (see Trim). It must not be changed.
	*corev1.Node

	// Index is the node's place in the snapshot.
	Index int32
	// Joined is the generation at which the node came: a later node under the same index, or of the
	// same name, has another one.
	Joined uint64

	// Allocatable are the resources that the node offers to pods.
	Allocatable Resources
	// Requested is the sum of the requests of its pods.
	Requested Resources
	// NonZeroMilliCPU and NonZeroMemory are the same with defaults for
	// containers that ask for nothing; see Pod.
	NonZeroMilliCPU, NonZeroMemory int64

	// Pods are the pods on the node, assumed ones included, in no order, and Labelled their [Pod.Labelled]: to ask about the labels of
	// all pods of a cluster takes a look at no pod.
	Pods     []*Pod
	Labelled []unique.Handle[string]
	// Affine are the Pods that have an Affinity.
	Affine []*Pod
	// Ports are the host ports that the Pods take.
	Ports []HostPort

	// CSI is the node's CSINode object, nil when there is none.
	CSI *storagev1.CSINode

	// Devices are the devices that only this node has, nil when it has none.
	Devices *Devices

	// Usage is the measured usage of the node, nil when nothing is known.
	Usage *Usage

	// Expected are pods that kube-scheduler is about to put on some node, and likely on this
	// one; see [Cluster.Expect]. They are not among Pods, and count in no sum.
	Expected []*Pod
}

// newNode returns a node without pods.
func newNode(object *corev1.Node, index int32) *Node {
	return &Node{Node: object, Index: index, Allocatable: ResourcesOf(object.Status.Allocatable)}
}

// withObject is n after its API object became object, and what that changed. It
// is n itself when nothing that muster reads changed, as in a heartbeat.
func (n *Node) withObject(object *corev1.Node) (*Node, Aspect) {
	before := *n.Node
	before.ResourceVersion = object.ResourceVersion
	if equality.Semantic.DeepEqual(&before, object) {
		return n, 0
	}
	var changed Aspect
	if !equality.Semantic.DeepEqual(n.Status.Allocatable, object.Status.Allocatable) {
		changed |= AspectAllocatable
	}
	if !equality.Semantic.DeepEqual(n.Labels, object.Labels) {
		changed |= AspectLabels
	}
	if !equality.Semantic.DeepEqual(n.Spec.Taints, object.Spec.Taints) {
		changed |= AspectTaints
	}
	if n.Spec.Unschedulable != object.Spec.Unschedulable {
		changed |= AspectUnschedulable
	}
	if !equality.Semantic.DeepEqual(n.Status.Conditions, object.Status.Conditions) {
		changed |= AspectConditions
	}
	if !equality.Semantic.DeepEqual(n.Status.Images, object.Status.Images) {
		changed |= AspectImages
	}
	if !slices.Equal(n.Status.DeclaredFeatures, object.Status.DeclaredFeatures) {
		changed |= AspectFeatures
	}
	if !maps.Equal(n.Annotations, object.Annotations) {
		changed |= AspectAnnotations
	}
	next := *n
	next.Node = object
	if changed&AspectAllocatable != 0 {
		next.Allocatable = ResourcesOf(object.Status.Allocatable)
	}
	return &next, changed
}

// sameImages reports whether two states hold the same images by the same names. No node, nil, holds none.
func (n *Node) sameImages(other *Node) bool {
	if n != nil && other != nil && n.Node == other.Node {
		return true
	}
	return slices.EqualFunc(n.images(), other.images(), func(a, b corev1.ContainerImage) bool { return slices.Equal(a.Names, b.Names) })
}

// images returns what the node holds, none where there is no node.
func (n *Node) images() []corev1.ContainerImage {
	if n == nil {
		return nil
	}
	return n.Status.Images
}

// Pod returns the pod of a UID that counts on the node, nil when it has none; so has no node.
func (n *Node) Pod(uid types.UID) *Pod {
	if n == nil {
		return nil
	}
	for _, pod := range n.Pods {
		if pod.UID == uid {
			return pod
		}
	}
	return nil
}

// WithPod returns n with one more pod. It serves the writer and every caller that asks "what if".
func (n *Node) WithPod(pod *Pod) *Node {
	next := *n
	next.add(pod)
	next.Pods, next.Labelled = append(slices.Clip(n.Pods), pod), append(slices.Clip(n.Labelled), pod.Labelled)
	if pod.Affinity != nil {
		next.Affine = append(slices.Clip(n.Affine), pod)
	}
	next.Ports = append(slices.Clip(n.Ports), pod.HostPorts...)
	return &next
}

// WithoutPod is n without the pod of that UID and what devices only it has reserved, or n itself if it has none.
func (n *Node) WithoutPod(uid types.UID) *Node {
	next := n.without(uid)
	if devices := n.Devices.without(uid, next.Pods); next != n && devices != n.Devices {
		next.Devices = devices
	}
	return next
}

// Without is WithoutPod for all pods that are selected.
func (n *Node) Without(selected func(*Pod) bool) *Node {
	next := n
	for _, pod := range n.Pods {
		if selected(pod) {
			next = next.WithoutPod(pod.UID)
		}
	}
	return next
}

// Bare returns n as it is offered to pods when it has none. Devices are left as they are.
func (n *Node) Bare() *Node {
	next := *n
	next.Requested, next.NonZeroMilliCPU, next.NonZeroMemory = Resources{}, 0, 0
	next.Pods, next.Labelled, next.Affine, next.Ports = nil, nil, nil, nil
	return &next
}

// without returns n without the pod of that UID, or n itself if it has no such pod. The devices stay as the API
// shows them.
func (n *Node) without(uid types.UID) *Node {
	at := slices.IndexFunc(n.Pods, func(p *Pod) bool { return p.UID == uid })
	if at < 0 {
		return n
	}
	next := *n
	next.Pods, next.Labelled = slices.Delete(slices.Clone(n.Pods), at, at+1), slices.Delete(slices.Clone(n.Labelled), at, at+1)
	next.subtract(n.Pods[at])
	if n.Pods[at].Affinity != nil {
		next.Affine = slices.DeleteFunc(slices.Clone(n.Affine), func(p *Pod) bool { return p.UID == uid })
	}
	if len(n.Pods[at].HostPorts) > 0 {
		next.Ports = nil
		for _, pod := range next.Pods {
			next.Ports = append(next.Ports, pod.HostPorts...)
		}
	}
	return &next
}

// add counts what a pod asks for.
func (n *Node) add(pod *Pod) {
	n.Requested = n.Requested.plus(&pod.Requests, +1)
	n.NonZeroMilliCPU = quantity.Sum(n.NonZeroMilliCPU, pod.NonZeroMilliCPU)
	n.NonZeroMemory = quantity.Sum(n.NonZeroMemory, pod.NonZeroMemory)
}

// subtract stops counting the requests of a pod that is not among the node's pods any more. A sum that did not
// fit 64 bits is counted again.
func (n *Node) subtract(pod *Pod) {
	if n.Requested.full() || max(n.NonZeroMilliCPU, n.NonZeroMemory) == math.MaxInt64 {
		n.Requested, n.NonZeroMilliCPU, n.NonZeroMemory = Resources{}, 0, 0
		for _, left := range n.Pods {
			n.add(left)
		}
		return
	}
	n.Requested = n.Requested.plus(&pod.Requests, -1)
	n.NonZeroMilliCPU -= pod.NonZeroMilliCPU
	n.NonZeroMemory -= pod.NonZeroMemory
}

// podAspects returns the aspects of a node that a pod coming or going changes.
func podAspects(pod *Pod) Aspect {
	aspects := AspectRequested | AspectPods
	if len(pod.HostPorts) > 0 {
		aspects |= AspectPorts
	}
	return aspects
}

// Trait is a property that few nodes have as a rule. The snapshot knows which; see [Snapshot.Having].
type Trait int

const (
	// TraitAffine is of nodes with Affine pods.
	TraitAffine Trait = iota
	// TraitAvoided is of nodes with a taint of effect PreferNoSchedule.
	TraitAvoided

	traits = iota
)

func (n *Node) has(trait Trait) bool {
	if trait == TraitAffine {
		return len(n.Affine) > 0
	}
	return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectPreferNoSchedule })
}

// Usage is the measured usage of a node. It is immutable: new figures make a new Usage.
type Usage struct {
	// Updated is when the figures were taken, zero when there have never been any.
	Updated time.Time
	// Interval is the time between two reports, 0 when the source does not say.
	Interval time.Duration
	// Seen is the time when the figures were last looked at. Their age is taken at that time, and not at the
	// present one, so that a verdict on a node depends on the node's state alone. A writer of Usage sets a new
	// one, with a later Seen, once its age comes to matter.
	Seen time.Time

	// Node is the usage of the whole node, pods included.
	Node Resources
	// System is the usage of the node beside its pods.
	System Resources
	// Pressure is how much processes of the node had to wait.
	Pressure Pressure
	// Aggregated are statistics of what the whole node used, in no order.
	Aggregated []Aggregate
	// Pods is the usage of single pods of the node. A pod may be missing, or be gone.
	Pods map[types.NamespacedName]PodUsage
}

// Age returns how old the figures were when they were last looked at.
func (u *Usage) Age() time.Duration { return u.Seen.Sub(u.Updated) }

// Pressure is the share of time in which processes of a node wait for a resource, in percent, 0 where it is not
// measured. Linux calls it pressure stall information.
type Pressure struct{ CPU, Memory float64 }

// Aggregate is a statistic of what a node used.
type Aggregate struct {
	// Type is "avg", or a percentile as in "p95".
	Type string
	// Duration is the length of time that it is over.
	Duration time.Duration
	// Used is its value.
	Used Resources
}

// PodUsage is the usage of one pod.
type PodUsage struct {
	Used Resources
	// Priority is the priority class of the pod as the source has it, as in "koord-prod";
	// "" when it does not say.
	Priority string
}

// SetUsage applies what was measured on a node, or with nil that nothing is known any
// more. It is kept for a node that is not known yet, or goes and comes again.
func (c *Cluster) SetUsage(node string, usage *Usage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fleet.setUsage(node, usage)
}
