package conformance

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"muster.dev/muster/api/config"
)

// scalarNames are extended resources of two domains, one of Kubernetes' own domain, and huge pages.
func scalarNames() []corev1.ResourceName {
	return []corev1.ResourceName{
		"example.com/gpu", "example.com/fpga", "net.example.org/nic", "vendor.kubernetes.io/card",
		corev1.ResourceHugePagesPrefix + "2Mi", corev1.ResourceHugePagesPrefix + "1Gi",
	}
}

// put adds one of the amounts to a list, with a chance in percent.
func (s *source) put(list corev1.ResourceList, percent int, name corev1.ResourceName, amounts ...string) {
	if s.chance(percent) {
		list[name] = resource.MustParse(one(s, amounts...))
	}
}

func offer(s *source, node *corev1.Node) {
	if s.chance(3) {
		return
	}
	offered := corev1.ResourceList{}
	s.put(offered, 95, corev1.ResourceCPU, "0", "1", "2", "4", "3920m", "16", "16", "64", "1e12")
	s.put(offered, 95, corev1.ResourceMemory, "0", "1Gi", "4Gi", "16Gi", "15631236Ki", "64Gi", "67433275392", "1Pi", "1e15")
	s.put(offered, 80, corev1.ResourceEphemeralStorage, "0", "10Gi", "100Gi", "95551679124")
	s.put(offered, 97, corev1.ResourcePods, "0", "2", "3", "5", "110", "110", "110", "110")
	if s.chance(25) { // so that what is left to the others decides
		plenty := resource.MustParse("1e12")
		for _, name := range []corev1.ResourceName{"cpu", "memory", "ephemeral-storage", "pods"} {
			offered[name] = plenty
		}
	}
	for _, name := range several(s, 5, scalarNames()...) {
		s.put(offered, 100, name, "0", "1", "2", "8", "4Gi")
	}
	node.Status.Capacity = offered
	node.Status.Allocatable = offered
}

// request draws what a container or a whole pod asks for.
func (s *source) request() corev1.ResourceList {
	asked := corev1.ResourceList{}
	s.put(asked, 65, corev1.ResourceCPU, "0", "1m", "0.0001", "100m", "250m", "500m", "1", "1500m", "3", "70", "1n", "1e0", "25e-2", "1Ki")
	s.put(asked, 65, corev1.ResourceMemory, "0", "1", "1500m", "128Mi", "200M", "512Mi", "1Gi", "3Gi", "100Gi", "1n", "1e9", "5E-1")
	s.put(asked, 15, corev1.ResourceEphemeralStorage, "0", "1Gi", "9Gi", "50Gi", "200Gi")
	if s.chance(25) {
		for _, name := range several(s, 2, scalarNames()...) {
			s.put(asked, 100, name, "0", "1", "1", "2", "3", "1Gi")
		}
	}
	return asked
}

// ask gives a pod requests: of all its containers, of the pod itself, and an overhead.
func ask(s *source, pod *corev1.Pod) {
	for _, container := range containers(pod) {
		if s.chance(80) {
			container.Resources = s.requirements()
		}
	}
	if s.chance(15) {
		pod.Spec.Overhead = corev1.ResourceList{}
		s.put(pod.Spec.Overhead, 70, corev1.ResourceCPU, "0", "100m", "250m")
		s.put(pod.Spec.Overhead, 70, corev1.ResourceMemory, "0", "120Mi")
		s.put(pod.Spec.Overhead, 10, "example.com/gpu", "1")
	}
	if s.chance(20) {
		whole := s.requirements()
		if s.chance(30) && whole.Requests != nil {
			s.put(whole.Requests, 70, corev1.ResourceHugePagesPrefix+"2Mi", "0", "2Mi", "1Gi")
			s.put(whole.Requests, 70, corev1.ResourceHugePagesPrefix+"1Gi", "1Gi", "2Gi")
		}
		pod.Spec.Resources = &whole
	}
}

// overask has few pods ask for more of a resource than any node has, near to all that 64 bits hold. It does not come to
// what they do not hold: kube-scheduler's sums are less than nothing then, which fits everywhere.
func (s *source) overask(pod *corev1.Pod) {
	if !s.chance(3) {
		return
	}
	container := &pod.Spec.Containers[0]
	if container.Resources.Requests == nil {
		container.Resources.Requests = corev1.ResourceList{}
	}
	s.put(container.Resources.Requests, 50, corev1.ResourceCPU, "4611686018427387904m", "4e15", "4611686018427387904u")
	s.put(container.Resources.Requests, 50, corev1.ResourceMemory, "4611686018427387904", "4Ei", "4e18", "4611686018427387904n")
	s.put(container.Resources.Requests, 20, "example.com/gpu", "4611686018427387904", "9007199254740993")
}

// requirements draws requests, limits (which become requests where there are none), or both.
func (s *source) requirements() corev1.ResourceRequirements {
	switch s.upTo(3) {
	case 0:
		return corev1.ResourceRequirements{Limits: s.request()}
	case 1:
		return corev1.ResourceRequirements{Requests: s.request(), Limits: s.request()}
	default:
		return corev1.ResourceRequirements{Requests: s.request()}
	}
}

// resize puts a placed pod somewhere on the way from one size to another: what was allocated and what is in effect
// differ from what is asked for.
func resize(s *source, pod *corev1.Pod) {
	if !s.chance(30) {
		return
	}
	for _, container := range containers(pod) {
		status := corev1.ContainerStatus{Name: container.Name}
		if s.chance(80) {
			status.Resources = &corev1.ResourceRequirements{Requests: s.request()}
		}
		if s.chance(80) {
			status.AllocatedResources = s.request()
		}
		if s.chance(50) {
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, status)
		} else {
			pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, status)
		}
	}
	if s.chance(50) {
		pod.Status.Resources = &corev1.ResourceRequirements{Requests: s.request()}
		pod.Status.AllocatedResources = s.request()
	}
	pod.Status.Conditions = several(s, 2,
		corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
		corev1.PodCondition{Type: corev1.PodResizeInProgress, Status: corev1.ConditionTrue},
		corev1.PodCondition{
			Type: corev1.PodResizePending, Status: corev1.ConditionTrue,
			Reason: one(s, corev1.PodReasonInfeasible, corev1.PodReasonDeferred), Message: "Node didn't have enough resource: cpu",
		},
	)
}

func drawFitArgs(s *source) map[string]any {
	args := map[string]any{}
	if s.chance(40) {
		args["ignoredResources"] = plain(several(s, 2, scalarNames()[:4]...))
	}
	if s.chance(40) {
		args["ignoredResourceGroups"] = plain(several(s, 2, "example.com", "example.org", "net.example.org", "vendor.kubernetes.io"))
	}
	if s.chance(70) {
		strategy := map[string]any{"type": one(s, config.LeastAllocated, config.MostAllocated, config.RequestedToCapacityRatio)}
		if strategy["type"] == config.RequestedToCapacityRatio {
			strategy["requestedToCapacityRatio"] = map[string]any{"shape": s.shape()}
		}
		if s.chance(80) {
			strategy["resources"] = s.scoredResources(0, 1, 2, 10, 100)
		}
		args["scoringStrategy"] = plain(strategy)
	}
	return args
}

// shape draws points in the order of utilization.
func (s *source) shape() []map[string]any {
	var shape []map[string]any
	for utilization := s.upTo(50); utilization <= 100 && len(shape) < 4; utilization += 1 + s.upTo(60) {
		score := one(s, 0, s.upTo(config.MaxShapeScore), s.upTo(config.MaxShapeScore))
		shape = append(shape, map[string]any{"utilization": utilization, "score": score})
	}
	return shape
}

func drawBalancedAllocationArgs(s *source) map[string]any {
	return map[string]any{"resources": plain(s.scoredResources(0, 1))}
}

// scoredResources draws resources with weights. A weight of 0 stands for the default.
func (s *source) scoredResources(weights ...int64) []map[string]any {
	names := append(scalarNames(), corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceCPU, corev1.ResourceMemory,
		corev1.ResourceEphemeralStorage, "example.com/nobody-has-it")
	var resources []map[string]any
	drawn := map[corev1.ResourceName]bool{}
	for _, name := range several(s, 5, names...) {
		if drawn[name] {
			continue
		}
		drawn[name] = true
		spec := map[string]any{"name": name}
		if weight := one(s, weights...); weight > 0 {
			spec["weight"] = weight
		}
		resources = append(resources, spec)
	}
	return resources
}
