package predicates

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// nodeResourcesFit holds pods to the room that is left: what they ask for of
// every resource, and one of the pods the node may run
// (pkg/scheduler/framework/plugins/noderesources/fit.go). An extended resource that the
// node does not offer, and that a DeviceClass stands for, is left to DynamicResources.
type nodeResourcesFit struct {
	ignored       []string
	ignoredGroups []string
}

func newNodeResourcesFit(profile *config.Profile) (Predicate, error) {
	args := profile.NodeResourcesFitArgs()
	return nodeResourcesFit{ignored: args.IgnoredResources, ignoredGroups: args.IgnoredResourceGroups}, nil
}

func (nodeResourcesFit) Name() string { return config.NodeResourcesFit }

func (nodeResourcesFit) Aspects() cluster.Aspect {
	return cluster.AspectAllocatable | cluster.AspectRequested | cluster.AspectDeviceClass
}

// mostScalars is the last scalar resource of a pod with a code of its own. Later ones share that code.
const mostScalars = int(hopeless-insufficientScalar) - 1

// scalarRequest is an amount of one scalar resource, and the verdict where there is less.
type scalarRequest struct {
	cluster.Scalar
	short Verdict
	// devices says that there are devices for it where it is not offered.
	devices bool
}

func (p nodeResourcesFit) For(pod *cluster.Pod, snap *cluster.Snapshot) Check {
	return &fitCheck{asked: &pod.Requests, scalars: p.scalars(&pod.Requests, snap.Objects)}
}

// fitCheck is nodeResourcesFit for a pod.
type fitCheck struct {
	asked   *cluster.Resources
	scalars []scalarRequest
}

func (c *fitCheck) Verdict(node *cluster.Node) Verdict {
	verdict := Fits
	c.Verdicts(node, func(next Verdict) { verdict = verdict.or(next) })
	return verdict
}

// Verdicts implements [Plural].
func (c *fitCheck) Verdicts(node *cluster.Node, visit func(Verdict)) {
	asked, offered, taken := c.asked, &node.Allocatable, &node.Requested
	if int64(len(node.Pods)) >= offered.Pods {
		visit(tooManyPods)
	}
	if v := room(asked.MilliCPU, taken.MilliCPU, offered.MilliCPU, insufficientCPU); v != Fits {
		visit(v)
	}
	if v := room(asked.Memory, taken.Memory, offered.Memory, insufficientMemory); v != Fits {
		visit(v)
	}
	if v := room(asked.EphemeralStorage, taken.EphemeralStorage, offered.EphemeralStorage, insufficientEphemeralStorage); v != Fits {
		visit(v)
	}
	for i := range c.scalars {
		s := &c.scalars[i]
		if there := offered.Scalar(s.Name); there > 0 || !s.devices {
			if v := room(s.Amount, taken.Scalar(s.Name), there, s.short); v != Fits {
				visit(v)
			}
		}
	}
}

// or keeps the first reason and is hopeless when either is.
func (v Verdict) or(next Verdict) Verdict {
	if v == Fits {
		return next
	}
	return v | next&hopeless
}

// room judges one resource. A request of nothing always fits, even on a node
// that is over its limit. A request beyond all that the node offers is hopeless.
func room(asked, taken, offered int64, short Verdict) Verdict {
	switch {
	case asked <= 0 || asked <= offered-taken:
		return Fits
	case asked > offered:
		return short | hopeless
	default:
		return short
	}
}

// scalars returns the scalar requests that count.
func (p nodeResourcesFit) scalars(asked *cluster.Resources, objects *cluster.Objects) []scalarRequest {
	var counting []scalarRequest
	for i, scalar := range asked.Scalars {
		if scalar.Amount > 0 && !p.ignores(scalar.Name.Value()) {
			short := insufficientScalar + Verdict(min(i, mostScalars))
			_, devices := deviceClassOf(scalar.Name.Value(), objects)
			counting = append(counting, scalarRequest{scalar, short, devices})
		}
	}
	return counting
}

// ignores applies to extended resources only: names with a domain that is not Kubernetes' own.
func (p nodeResourcesFit) ignores(name corev1.ResourceName) bool {
	domain, _, qualified := strings.Cut(string(name), "/")
	if !qualified || strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix) {
		return false
	}
	return slices.Contains(p.ignored, string(name)) || slices.Contains(p.ignoredGroups, domain)
}
