package workload

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

// NewNode makes a ready node with so much CPU, 64Gi of memory and room for 110 pods, then changes it. It has an annotation: who
// writes which fields is not known of an object that is created with a name and nothing else.
func NewNode(name, cpu string, change ...func(*corev1.Node)) *corev1.Node {
	room := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse(cpu),
		corev1.ResourceMemory: resource.MustParse("64Gi"),
		corev1.ResourcePods:   resource.MustParse("110"),
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{}, Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
		},
		Status: corev1.NodeStatus{
			Capacity: room.DeepCopy(), Allocatable: room,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Simulated"}},
		},
	}
	for _, f := range change {
		f(node)
	}
	return node
}

// Room sets how much memory a node has and how many pods it takes, and labels the node with its name.
func Room(memoryGiB, pods int64) func(*corev1.Node) {
	return func(node *corev1.Node) {
		node.Labels[corev1.LabelHostname] = node.Name
		for _, room := range []corev1.ResourceList{node.Status.Capacity, node.Status.Allocatable} {
			room[corev1.ResourceMemory] = *resource.NewQuantity(memoryGiB<<30, resource.BinarySI)
			room[corev1.ResourcePods] = *resource.NewQuantity(pods, resource.DecimalSI)
		}
	}
}

// Milli writes thousandths of a core as an amount of CPU.
func Milli(cpu int64) string { return resource.NewMilliQuantity(cpu, resource.DecimalSI).String() }

// ForKWOK leaves it to KWOK to make a node ready, which then has an address as well.
func ForKWOK(node *corev1.Node) { node.Status.Conditions = nil }

// NewNodes makes nodes whose names are a prefix and a number from 0 on.
func NewNodes(prefix string, count int, cpu string, change ...func(*corev1.Node)) []*corev1.Node {
	nodes := make([]*corev1.Node, count)
	for i := range nodes {
		nodes[i] = NewNode(fmt.Sprintf("%s-%02d", prefix, i), cpu, change...)
	}
	return nodes
}

// NewPod makes a pod of the workloads' namespace that asks for so much CPU and ends at once when deleted, then changes it.
func NewPod(name, cpu string, change ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: Namespace, Labels: map[string]string{}, Annotations: map[string]string{}},
		Spec:       PodSpec(cpu),
	}
	for _, f := range change {
		f(pod)
	}
	return pod
}

// NewPods makes pods whose names are a prefix and a number from 0 on.
func NewPods(prefix string, count int, cpu string, change ...func(*corev1.Pod)) []*corev1.Pod {
	pods := make([]*corev1.Pod, count)
	for i := range pods {
		pods[i] = NewPod(fmt.Sprintf("%s-%04d", prefix, i), cpu, change...)
	}
	return pods
}

// PodSpec describes a pod with one container that asks for CPU.
func PodSpec(cpu string) corev1.PodSpec {
	return corev1.PodSpec{
		TerminationGracePeriodSeconds: new(int64(0)),
		Containers: []corev1.Container{{
			Name: "main", Image: "example.com/main",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}},
		}},
	}
}

// In puts a pod into a namespace.
func In(namespace string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Namespace = namespace } }

// On binds a pod to a node from the start.
func On(node string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.NodeName = node } }

// ScheduledBy names the scheduler of a pod.
func ScheduledBy(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.SchedulerName = name }
}

// OfPriority names the priority class of a pod.
func OfPriority(class string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.PriorityClassName = class }
}

// Labelled sets a label of a pod.
func Labelled(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels[key] = value }
}

// Annotated sets an annotation of a pod.
func Annotated(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations[key] = value }
}

// NodeLabelled sets a label of a node.
func NodeLabelled(key, value string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Labels[key] = value }
}

// InGang makes a pod a member of a gang by the label of the API group that there is most of.
func InGang(name string) func(*corev1.Pod) { return Labelled(v1alpha1.LabelX, name) }

// NewMembers makes the first members of a gang, whose names are that of the gang and a number from 0 on.
func NewMembers(gang string, count int, cpu string, change ...func(*corev1.Pod)) []*corev1.Pod {
	pods := make([]*corev1.Pod, count)
	for i := range pods {
		pods[i] = NewPod(fmt.Sprintf("%s-%d", gang, i), cpu, append([]func(*corev1.Pod){InGang(gang)}, change...)...)
	}
	return pods
}

// NewPodGroup makes the PodGroup of a gang that starts with minMember members.
func NewPodGroup(name string, minMember int) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupX + "/" + v1alpha1.Version, "kind": v1alpha1.Kind,
		"metadata": map[string]any{"name": name, "namespace": Namespace},
		"spec":     map[string]any{"minMember": int64(minMember)},
	}}
}
