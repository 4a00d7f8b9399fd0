package workload

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NewPod makes a pod of a priority class that asks for CPU.
func NewPod(name string, milliCPU int64, priority string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: Namespace},
		Spec: corev1.PodSpec{
			PriorityClassName: priority, TerminationGracePeriodSeconds: new(int64(0)),
			Containers: []corev1.Container{{Name: "main", Image: "example.com/main", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(milliCPU, resource.DecimalSI)},
			}}},
		},
	}
}

// NewNode makes a node that is ready.
func NewNode(name string, cores int64) *corev1.Node {
	room := corev1.ResourceList{
		corev1.ResourceCPU:  *resource.NewQuantity(cores, resource.DecimalSI),
		corev1.ResourcePods: *resource.NewQuantity(20, resource.DecimalSI),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Status: corev1.NodeStatus{
			Capacity: room, Allocatable: room,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Simulated"}},
		},
	}
}
