package cluster

import (
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

const testTTL = time.Minute

func newCluster(t testing.TB) *Cluster {
	t.Helper()
	return New(Options{Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewPedanticRegistry(), AssumeTTL: testTTL})
}

func set(t testing.TB, c *Cluster, objects ...runtime.Object) {
	t.Helper()
	for _, object := range objects {
		if err := c.Set(object); err != nil {
			t.Fatal(err)
		}
	}
}

func remove(t testing.TB, c *Cluster, objects ...runtime.Object) {
	t.Helper()
	for _, object := range objects {
		if err := c.Delete(object); err != nil {
			t.Fatal(err)
		}
	}
}

// amounts reads a ResourceList from names and quantities in turns.
func amounts(namesAndQuantities ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(namesAndQuantities); i += 2 {
		list[corev1.ResourceName(namesAndQuantities[i])] = resource.MustParse(namesAndQuantities[i+1])
	}
	return list
}

func nodeObject(name string, change ...func(*corev1.Node)) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("node-" + name), Labels: map[string]string{"kubernetes.io/hostname": name}},
		Status:     corev1.NodeStatus{Allocatable: amounts("cpu", "8", "memory", "32Gi", "pods", "110")},
	}
	for _, f := range change {
		f(node)
	}
	return node
}

// podObject is a pod with one container that asks for 100m and 1Gi.
func podObject(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("pod-" + name), Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{container("main", "cpu", "100m", "memory", "1Gi")}},
	}
	for _, f := range change {
		f(pod)
	}
	return pod
}

func container(name string, requests ...string) corev1.Container {
	return corev1.Container{Name: name, Resources: corev1.ResourceRequirements{Requests: amounts(requests...)}}
}

func sidecar(name string, requests ...string) corev1.Container {
	c := container(name, requests...)
	always := corev1.ContainerRestartPolicyAlways
	c.RestartPolicy = &always
	return c
}

func onNode(name string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.NodeName = name }
}

func asking(requests ...string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.Containers[0].Resources.Requests = amounts(requests...) }
}

func inPhase(phase corev1.PodPhase) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Status.Phase = phase }
}

func hostPort(port int32) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: port, Protocol: corev1.ProtocolTCP}}
	}
}

func limitedTo(limits ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Limits = amounts(limits...) }
}

func ofPriority(priority int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Priority = &priority }
}

// became has a condition of a pod become true, at a time in seconds.
func became(condition corev1.PodConditionType, at int64) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Unix(at, 0),
		})
	}
}

// gangs are a custom resource.
var gangs = schema.GroupVersionResource{Group: "muster.dev", Version: "v1alpha1", Resource: "podgroups"}

func gang(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "muster.dev/v1alpha1",
		"kind":       "PodGroup",
		"metadata":   map[string]any{"namespace": "default", "name": name},
	}}
}
