package main

import (
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/e2e/workload"
)

// shape is the capacity of a node or the request of a pod: milli-CPU, MiB of memory, thousandths of
// a GPU.
type shape [3]int64

func (s shape) fitsInto(free shape) bool {
	for d := range s {
		if s[d] > free[d] && s[d] > 0 {
			return false
		}
	}
	return true
}

func (s shape) plus(other shape, sign int64) shape {
	for d := range s {
		s[d] += sign * other[d]
	}
	return s
}

func shapeOf(list corev1.ResourceList) shape {
	cpu, memory, gpu := list[corev1.ResourceCPU], list[corev1.ResourceMemory], list[workload.GPUMilliResource]
	return shape{cpu.MilliValue(), memory.Value() >> 20, gpu.Value()}
}

func (s shape) list() corev1.ResourceList {
	list := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(s[0], resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(s[1]<<20, resource.BinarySI),
	}
	if s[2] > 0 {
		list[workload.GPUMilliResource] = *resource.NewQuantity(s[2], resource.DecimalSI)
	}
	return list
}

// mostPods is how many pods a node may run.
const mostPods = 110

// trace is the nodes and the pods that clusters are made of.
type trace struct {
	nodes []shape
	pods  []shape
}

func loadTrace(dir string) (*trace, error) {
	if dir == "" {
		return generated(), nil
	}
	loaded, err := workload.LoadOpenB(dir, 1)
	if err != nil {
		return nil, fmt.Errorf("%s=%s: %w", dataEnv, dir, err)
	}
	t := &trace{}
	for _, node := range loaded.Nodes {
		t.nodes = append(t.nodes, shapeOf(node.Status.Allocatable))
	}
	for _, pod := range loaded.Pods {
		t.pods = append(t.pods, shapeOf(pod.Spec.Containers[0].Resources.Requests))
	}
	return t, nil
}

// generated resembles the trace: nodes without, with two and with eight GPUs, and pods that
// ask for none, for a part of one, or for some.
func generated() *trace {
	random := rand.New(rand.NewPCG(1, 0))
	t := &trace{}
	for range 200 {
		t.nodes = append(
			t.nodes, []shape{{96_000, 393_216, 8_000}, {96_000, 786_432, 8_000}, {64_000, 262_144, 2_000}, {32_000, 131_072, 0}}[random.IntN(4)],
		)
	}
	for range 2_000 {
		cpu := int64(1+random.IntN(16)) * 1000
		gpu := []int64{0, 0, 250, 500, 1000, 1000, 2000, 4000, 8000}[random.IntN(9)]
		t.pods = append(t.pods, shape{cpu, cpu / 1000 * int64(2+random.IntN(4)) * 1024, gpu})
	}
	return t
}

func (s shape) node(name string) *corev1.Node {
	list := s.list()
	list[corev1.ResourcePods] = *resource.NewQuantity(mostPods, resource.DecimalSI)
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Status:     corev1.NodeStatus{Allocatable: list},
	}
}

// pod is one of the ReplicaSet of its shape, on a node unless that is "".
func (s shape) pod(name, on string) *corev1.Pod {
	app := fmt.Sprintf("shape-%d-%d-%d", s[0], s[1], s[2])
	yes := true
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: workload.Namespace, UID: types.UID(name), Labels: map[string]string{"app": app},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app, UID: types.UID(app), Controller: &yes}},
		},
		Spec: corev1.PodSpec{
			NodeName: on, SchedulerName: corev1.DefaultSchedulerName,
			Containers: []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: s.list()}}},
		},
	}
}
