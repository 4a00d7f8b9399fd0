package upgrade

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/workload"
)

const (
	coresOfNode = "8"
	// pool is a label of nodes that pods may ask for.
	pool = "example.com/pool"
)

// newNode is a node of a pool, "" for none.
func newNode(name, of string) *corev1.Node {
	room := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse(coresOfNode),
		corev1.ResourceMemory: resource.MustParse("64Gi"),
		corev1.ResourcePods:   resource.MustParse("110"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{pool: of}},
		Status:     corev1.NodeStatus{Capacity: room, Allocatable: room},
	}
}

// newPod is a pod for the nodes of no pool.
func newPod(name, cpu string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: workload.Namespace},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{pool: ""},
			Containers: []corev1.Container{{
				Name: "main", Image: "example.com/main",
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}},
			}},
		},
	}
}

// newMember is a pod of a gang.
func newMember(gang string, number int, cpu string) *corev1.Pod {
	p := newPod(fmt.Sprintf("%s-%d", gang, number), cpu)
	p.Labels = map[string]string{v1alpha1.LabelX: gang}
	return p
}

// newGroup is the PodGroup of a gang.
func newGroup(gang string, members int) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupX + "/" + v1alpha1.Version, "kind": v1alpha1.Kind,
		"metadata": map[string]any{"name": gang, "namespace": workload.Namespace},
		"spec":     map[string]any{"minMember": int64(members)},
	}}
}
