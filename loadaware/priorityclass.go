package loadaware

import (
	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/cluster"
)

// LabelPriorityClass is the label of pods that names their priority class.
const LabelPriorityClass = "koordinator.sh/priority-class"

// priorityClass is how important a pod is to the pods that share a node with it.
type priorityClass int

const (
	noClass priorityClass = iota
	prod
	mid
	batch
	free

	classes
)

func (c priorityClass) String() string {
	return [classes]string{"", "koord-prod", "koord-mid", "koord-batch", "koord-free"}[c]
}

// name returns the name under which a pod of the class asks for a resource. Room left over by pods of higher
// classes is offered, and asked for, under names of its own, CPU in thousandths.
func (c priorityClass) name(resource corev1.ResourceName) corev1.ResourceName {
	if resource != corev1.ResourceCPU && resource != corev1.ResourceMemory {
		return resource
	}
	switch c {
	case mid:
		return corev1.ResourceDefaultNamespacePrefix + "mid-" + resource
	case batch:
		return corev1.ResourceDefaultNamespacePrefix + "batch-" + resource
	case noClass, prod, free:
	}
	return resource
}

// classNamed is noClass for a name that is not known.
func classNamed(name string) priorityClass {
	for class := prod; class < classes; class++ {
		if class.String() == name {
			return class
		}
	}
	return noClass
}

// classOf returns the class that the pod's label names, or that its priority is in, or that goes
// with its quality of service. It is never noClass.
func classOf(pod *cluster.Pod) priorityClass {
	if class := classNamed(pod.Labels[LabelPriorityClass]); class != noClass {
		return class
	}
	if priority := pod.Spec.Priority; priority != nil {
		switch *priority / 1000 {
		case 9:
			return prod
		case 7:
			return mid
		case 5:
			return batch
		case 3:
			return free
		}
	}
	if isBestEffort(pod) {
		return batch
	}
	return prod
}

// PriorityClass returns the name of a pod's priority class, as in "koord-prod".
func PriorityClass(pod *cluster.Pod) string { return classOf(pod).String() }

// isBestEffort reads the quality of service off the status, where the API server writes it
// when the pod is created. A pod that does not come from there is one when it asks for
// neither CPU nor memory, and has no limit to them.
func isBestEffort(pod *cluster.Pod) bool {
	if pod.Status.QOSClass != "" {
		return pod.Status.QOSClass == corev1.PodQOSBestEffort
	}
	return max(pod.Requests.MilliCPU, pod.Requests.Memory, pod.Limits.MilliCPU, pod.Limits.Memory) == 0
}
