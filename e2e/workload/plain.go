package workload

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PlainPod makes a pod without an owner that asks for CPU alone.
func PlainPod(name string, milliCPU int64) *corev1.Pod {
	main := container("main", float64(milliCPU), 0)
	delete(main.Resources.Requests, corev1.ResourceMemory)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: Namespace},
		Spec:       corev1.PodSpec{TerminationGracePeriodSeconds: new(int64(0)), Containers: []corev1.Container{main}},
	}
}

// ReadyNode makes a node that is ready without KWOK, with room for a number of pods.
func ReadyNode(name string, cores, memoryGiB, pods int64) *corev1.Node {
	room := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(cores, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(memoryGiB<<30, resource.BinarySI),
		corev1.ResourcePods:   *resource.NewQuantity(pods, resource.DecimalSI),
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Status:     corev1.NodeStatus{Capacity: room, Allocatable: room},
	}
	(&Cluster{Nodes: []*corev1.Node{node}}).Ready()
	return node
}
