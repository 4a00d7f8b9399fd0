package cluster

import (
	"cmp"
	"maps"
	"slices"
	"time"
	"unique"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"
)

// The requests that a container without one counts for in scores, so that pods which ask for nothing still
// spread (pkg/scheduler/util/pod_resources.go).
const (
	defaultMilliCPU = 100
	defaultMemory   = 200 << 20
)

// Pod is a pod with what is derived from its spec once and read many times. It
// is immutable; an update of the API object makes a new Pod.
type Pod struct {
	// Pod is the API object, trimmed (see Trim). It must not be changed.
	*corev1.Pod

	// Namespace is the object's. Pods of one namespace share the memory of its name, so
	// that the namespaces of many pods are compared at little cost.
	Namespace string
	// Labelled is the same for pods of one namespace with equal labels, which no selector
	// can tell apart.
	Labelled unique.Handle[string]
	// Affinity is the inter-pod affinity of the pod, nil when its spec has none.
	Affinity *Affinity

	// Requests are the total requests of the pod: init and sidecar containers, overhead, pod-level resources
	// and a resize in progress included.
	Requests Resources
	// Limits are the limits of the pod, overhead included: its own limit of a resource or else the sum of the
	// containers that limit the resource.
	Limits Resources
	// NonZeroMilliCPU and NonZeroMemory are Requests with a default for every
	// container that asks for none: what the pod counts for in the scores of the
	// node it is on.
	NonZeroMilliCPU, NonZeroMemory int64
	// HostPorts are the ports the pod takes on its node.
	HostPorts []HostPort

	// Claims are the ResourceClaims of the pod. They include what kube-scheduler made for its extended resources. A
	// placeholder has the claims that will be made for the pod that it stands for.
	Claims []*resourcev1.ResourceClaim
	// ClaimProblem says why not all that its spec names are among Claims, "" when all are.
	ClaimProblem ClaimProblem
	// Affiliation says to what the pod belongs by its owners. A pod that nobody has shown belongs to nothing, whatever its
	// references say.
	Affiliation Affiliation

	// Assigned is the time when the pod came to count on its node. It is set where the pod's conditions do not
	// say when it was scheduled, as for an assumed pod, and zero for all other pods and for pods without a
	// node.
	Assigned time.Time
	// Placeholder says that there is no such pod: it stands for one that is to come; see
	// [Cluster.Reserve].
	Placeholder bool
}

// FullName returns the namespace and name of the pod, as in default/web.
func (p *Pod) FullName() string { return p.Namespace + "/" + p.Name }

// OfDaemonSet reports whether a DaemonSet controls the pod: each node has one of these, and it goes with the node.
func (p *Pod) OfDaemonSet() bool {
	owner := metav1.GetControllerOfNoCopy(p.Pod)
	return owner != nil && owner.Kind == "DaemonSet"
}

// True reports whether a condition of the pod is true, and since when.
func (p *Pod) True(condition corev1.PodConditionType) (since time.Time, is bool) {
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == condition {
			return c.LastTransitionTime.Time, c.Status == corev1.ConditionTrue
		}
	}
	return time.Time{}, false
}

// Unschedulable reports whether kube-scheduler has tried the pod and put it aside.
func (p *Pod) Unschedulable() bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
	})
}

// Tried reports whether kube-scheduler has tried the pod, and has not placed it. The condition of a gated pod says something
// else, also for a while after its gate was lifted.
func (p *Pod) Tried() bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason != corev1.PodReasonSchedulingGated
	})
}

// Ready reports whether the pod is ready.
func (p *Pod) Ready() bool {
	_, ready := p.True(corev1.PodReady)
	return ready
}

// NominatedBy returns the field manager that wrote the nominated node in the pod's status, ""
// when there is none.
func (p *Pod) NominatedBy() string {
	if len(p.ManagedFields) == 0 {
		return ""
	}
	return p.ManagedFields[0].Manager // see Trim
}

// HostPort is a port of a node. IP "0.0.0.0" stands for all addresses.
type HostPort struct {
	IP       string
	Protocol corev1.Protocol
	Port     int32
}

// Conflicts reports whether both ports cannot be taken on one node: same protocol and port, and addresses that
// are equal or include the one that stands for all addresses.
func (p HostPort) Conflicts(other HostPort) bool {
	return p.Port == other.Port && p.Protocol == other.Protocol &&
		(p.IP == other.IP || p.IP == anyAddress || other.IP == anyAddress)
}

const anyAddress = "0.0.0.0"

// NewPod derives a Pod from an API object, which must not change afterwards.
func NewPod(object *corev1.Pod) *Pod { return newPod(object, parseAffinity(object)) }

func newPod(object *corev1.Pod, affinity *Affinity) *Pod {
	options := resourcehelper.PodResourcesOptions{
		UseStatusResources: maybeResized(object), InPlacePodLevelResourcesVerticalScalingEnabled: true,
	}
	requests := resourcehelper.PodRequests(object, options)
	pod := &Pod{
		Pod:             object,
		Namespace:       unique.Make(object.Namespace).Value(),
		Labelled:        labelled(object),
		Requests:        ResourcesOf(requests),
		Limits:          ResourcesOf(resourcehelper.PodLimits(object, resourcehelper.PodResourcesOptions{})),
		HostPorts:       hostPorts(object),
		Affinity:        affinity,
		NonZeroMilliCPU: milliValue(requests.Cpu()),
		NonZeroMemory:   value(requests.Memory()),
	}
	if options.NonMissingContainerRequests = missingRequests(object, requests); len(options.NonMissingContainerRequests) > 0 {
		withDefaults := resourcehelper.PodRequests(object, options)
		pod.NonZeroMilliCPU = milliValue(withDefaults.Cpu())
		pod.NonZeroMemory = value(withDefaults.Memory())
	}
	return pod
}

// maybeResized reports whether the status of a pod may tell of other requests than its spec. To sum them up takes thrice as long.
func maybeResized(object *corev1.Pod) bool {
	status := &object.Status
	return len(status.ContainerStatuses) > 0 || len(status.InitContainerStatuses) > 0 ||
		status.Resources != nil || status.AllocatedResources != nil || resourcehelper.IsPodResizeInfeasible(object)
}

// labelled makes one value of the namespace and the labels of a pod. Neither has a zero
// byte in it.
func labelled(object *corev1.Pod) unique.Handle[string] {
	text := append(make([]byte, 0, 256), object.Namespace...)
	for _, key := range slices.Sorted(maps.Keys(object.Labels)) {
		text = append(append(append(append(text, 0), key...), 0), object.Labels[key]...)
	}
	return unique.Make(string(text))
}

// ContainerRequests returns the requests of the containers of a pod, with a default for every container that
// asks for no CPU or no memory. NodeResourcesFit scores nodes by these. Unlike NonZeroMilliCPU and
// NonZeroMemory they ignore requests of the pod as a whole and resizes (calculatePodResourceRequest in
// pkg/scheduler/framework/plugins/noderesources/resource_allocation.go).
func ContainerRequests(object *corev1.Pod) Resources {
	return ResourcesOf(resourcehelper.PodRequests(object, resourcehelper.PodResourcesOptions{
		SkipPodLevelResources:       true,
		NonMissingContainerRequests: defaultRequests(),
	}))
}

func defaultRequests() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(defaultMilliCPU, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(defaultMemory, resource.BinarySI),
	}
}

// missingRequests returns the defaults for containers that ask for nothing. With
// pod-level resources the default stands in only for what the whole pod does
// not name (getNonMissingContainerRequests in pkg/scheduler/framework/types.go).
func missingRequests(object *corev1.Pod, requests corev1.ResourceList) corev1.ResourceList {
	defaults := defaultRequests()
	if resourcehelper.IsPodLevelRequestsSet(object) {
		for name := range defaults {
			if _, asked := requests[name]; asked {
				delete(defaults, name)
			}
		}
	}
	return defaults
}

// hostPorts lists what the containers and sidecars take on the node. A port of
// an ordinary init container is gone before the pod runs and does not count.
func hostPorts(object *corev1.Pod) []HostPort {
	var ports []HostPort
	collect := func(c *corev1.Container) {
		for _, p := range c.Ports {
			if p.HostPort <= 0 {
				continue
			}
			port := HostPort{IP: p.HostIP, Protocol: p.Protocol, Port: p.HostPort}
			if port.IP == "" {
				port.IP = anyAddress
			}
			if port.Protocol == "" {
				port.Protocol = corev1.ProtocolTCP
			}
			ports = append(ports, port)
		}
	}
	for i := range object.Spec.InitContainers {
		if c := &object.Spec.InitContainers[i]; c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			collect(c)
		}
	}
	for i := range object.Spec.Containers {
		collect(&object.Spec.Containers[i])
	}
	return ports
}

// finished pods hold nothing on their node any more.
func finished(object *corev1.Pod) bool {
	return object.Status.Phase == corev1.PodSucceeded || object.Status.Phase == corev1.PodFailed
}

// Complete fills in what the API server does of a pod that it has not seen yet, as far as its place depends on that: the namespace, the
// scheduler, and requests where there are limits.
func Complete(pod *corev1.Pod) {
	pod.Namespace = cmp.Or(pod.Namespace, metav1.NamespaceDefault)
	pod.Spec.SchedulerName = cmp.Or(pod.Spec.SchedulerName, corev1.DefaultSchedulerName)
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			resources := &containers[i].Resources
			for name, limit := range resources.Limits {
				if _, asked := resources.Requests[name]; asked {
					continue
				}
				if resources.Requests == nil {
					resources.Requests = corev1.ResourceList{}
				}
				resources.Requests[name] = limit
			}
		}
	}
}
