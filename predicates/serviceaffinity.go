package predicates

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// serviceAffinity holds all pods of a service to nodes that have the same values of some
// labels, say of one region (checkServiceAffinity in pkg/scheduler/algorithm/predicates
// of Kubernetes 1.12; kube-scheduler has no such plugin any more).
//
// Of those labels, the ones in the pod's node selector must be as they are there. The
// others must be as on the node of the first pod of the pod's services, as far as that
// node has them. The first one is the oldest, so that all replicas of a verdict agree;
// it used to be any. And it is one that a service selects, as in the first versions: later
// ones looked for a pod with all the labels of the pod at hand, so that a Deployment lost
// its affinity with every change of its template.
type serviceAffinity struct{ labels []string }

func newServiceAffinity(profile *config.Profile) (Predicate, error) {
	return serviceAffinity{labels: profile.ServiceAffinityArgs().AffinityLabels}, nil
}

func (serviceAffinity) Name() string { return config.ServiceAffinity }

func (serviceAffinity) Aspects() cluster.Aspect {
	return cluster.AspectService | cluster.AspectPods | cluster.AspectLabels
}

func (p serviceAffinity) For(pod *cluster.Pod, snap *cluster.Snapshot) Check {
	c := &serviceAffinityCheck{servedPod: servedPod{pod.Namespace, pod.Labels}, given: labels.ValidatedSetSelector{}, first: nowhere}
	for _, label := range p.labels {
		if value, given := pod.Spec.NodeSelector[label]; given {
			c.given[label] = value
		} else {
			c.shared = append(c.shared, sharedLabel{key: label, wanted: anyDomain})
		}
	}
	if len(c.shared) > 0 {
		c.selectors = c.services(snap.Objects)
	}
	if len(c.given) == 0 && len(c.selectors) == 0 {
		return nil
	}
	return c
}

// serviceAffinityCheck judges the nodes by the labels of a pod's node selector, and of the
// node where the first pod of its services is.
type serviceAffinityCheck struct {
	reach
	servedPod
	given     labels.ValidatedSetSelector
	shared    []sharedLabel
	selectors []labels.ValidatedSetSelector // of the pod's services, unless all labels are given

	oldest map[int32]servicePod // by the index of the node: the oldest pod of the services there
	first  int32                // the index of the node with the first pod of all
}

// sharedLabel is a label that pods of a service have in common on their nodes.
type sharedLabel struct {
	key     string
	domains *cluster.Domains
	wanted  int32 // the domain where the first pod is
}

const (
	// nowhere is the node of the first pod when there is none.
	nowhere = -1
	// anyDomain is wanted when there is no first pod, or its node lacks the label.
	anyDomain = -1
)

// servicePod tells which of two pods came first. Of two as old as each other, it is the
// one of the lesser UID.
type servicePod struct {
	created int64 // Unix time in seconds
	uid     types.UID
}

func (p servicePod) before(other servicePod) bool {
	return p.created < other.created || p.created == other.created && p.uid < other.uid
}

// Verdict implements [Check]. Eviction does not help, since the first pod is never on a
// node that differs from its own.
func (c *serviceAffinityCheck) Verdict(node *cluster.Node) Verdict {
	for i := range c.shared {
		if label := &c.shared[i]; label.wanted != anyDomain && label.domains.Of(node.Index) != label.wanted {
			return serviceAffinityDiffers | hopeless
		}
	}
	if !c.given.Matches(labels.Set(node.Labels)) {
		return serviceAffinityDiffers | hopeless
	}
	return Fits
}

// Group implements [Spanning].
func (c *serviceAffinityCheck) Group(node *cluster.Node) uint64 {
	group := ofTruth(c.given.Matches(labels.Set(node.Labels)))
	for i := range c.shared {
		if domains := c.shared[i].domains; domains != nil {
			group = mix(group, ofDomain(domains.Of(node.Index)))
		}
	}
	return group
}

func (c *serviceAffinityCheck) minds(pod *cluster.Pod) bool {
	return pod.Namespace == c.namespace && c.alsoServe(pod.Labels)
}

// Update implements [Digest].
func (c *serviceAffinityCheck) Update(snap *cluster.Snapshot, nodes []int32) {
	if len(c.selectors) == 0 {
		return
	}
	c.end = int32(snap.IndexEnd()) //nolint:gosec // a cluster has fewer than 2³¹ nodes
	for i := range c.shared {
		c.shared[i].domains = snap.Domains(c.shared[i].key)
	}
	for _, index := range nodes {
		c.put(index, snap.Node(index))
	}
	c.settle()
}

// Suppose implements [Digest].
func (c *serviceAffinityCheck) Suppose(_ *cluster.Snapshot, node *cluster.Node) {
	c.put(node.Index, node)
	c.settle()
}

// put takes note of the oldest pod on a node, which is nil if it is gone.
func (c *serviceAffinityCheck) put(index int32, node *cluster.Node) {
	was, had := c.oldest[index]
	is, has := c.oldestOn(node)
	switch {
	case has == had && is == was:
		return
	case has && c.oldest == nil:
		c.oldest = map[int32]servicePod{index: is}
	case has:
		c.oldest[index] = is
	default:
		delete(c.oldest, index)
	}
	switch {
	case index == c.first:
		c.first = c.oldestOfAll()
	case has && (c.first == nowhere || is.before(c.oldest[c.first])):
		c.first = index
	}
}

func (c *serviceAffinityCheck) oldestOn(node *cluster.Node) (oldest servicePod, found bool) {
	if node == nil {
		return oldest, false
	}
	for _, pod := range node.Pods {
		if pod.Namespace != c.namespace || !c.alsoServe(pod.Labels) {
			continue
		}
		if p := (servicePod{pod.CreationTimestamp.Unix(), pod.UID}); !found || p.before(oldest) {
			oldest, found = p, true
		}
	}
	return oldest, found
}

// alsoServe reports whether a pod of those labels is one of the services as well.
func (c *serviceAffinityCheck) alsoServe(pod labels.Set) bool {
	return slices.ContainsFunc(c.selectors, func(s labels.ValidatedSetSelector) bool { return s.Matches(pod) })
}

func (c *serviceAffinityCheck) oldestOfAll() int32 {
	first := int32(nowhere)
	for index, pod := range c.oldest {
		if first == nowhere || pod.before(c.oldest[first]) {
			first = index
		}
	}
	return first
}

// settle finds where the first pod is. In another domain than it was, it turns verdicts
// everywhere.
func (c *serviceAffinityCheck) settle() {
	for i := range c.shared {
		label := &c.shared[i]
		wanted := int32(anyDomain)
		if c.first != nowhere {
			wanted = label.domains.Of(c.first)
		}
		if wanted != label.wanted {
			label.wanted = wanted
			c.turnAll()
		}
	}
}

// DependsOn implements [Selective].
func (c *serviceAffinityCheck) DependsOn(_ cluster.Aspect, service types.NamespacedName, before, after *cluster.Objects) bool {
	return len(c.shared) > 0 && c.otherServices(service, before, after)
}

// size is in bytes.
func (c *serviceAffinityCheck) size() int64 {
	const perNode = 48 // an entry of a map, with its part of the empty places
	return int64(len(c.oldest)) * perNode
}
