package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"muster.dev/muster/e2e/workload"
)

// trace is a list of pods to place.
type trace struct {
	// name is its value of OPENB_TRACES, and prefix is before that of a contender in figures.
	name, prefix string
	of           func(*workload.Cluster) *workload.Cluster
}

// tracesOf returns the traces of that name, all for none.
func tracesOf(name string) ([]trace, error) {
	all := []trace{
		{"trace", "", func(c *workload.Cluster) *workload.Cluster { return c }},
		{"distinct", "distinct_", distinct},
	}
	if name == "" {
		return all, nil
	}
	for _, t := range all {
		if t.name == name {
			return []trace{t}, nil
		}
	}
	return nil, fmt.Errorf("%s=%s: want trace or distinct", tracesEnv, name)
}

// distinct returns the cluster with pods that all ask for different amounts of memory: what is known of one says nothing of
// another.
func distinct(c *workload.Cluster) *workload.Cluster {
	other := *c
	other.Pods = make([]*corev1.Pod, len(c.Pods))
	for i, pod := range c.Pods {
		other.Pods[i] = pod.DeepCopy()
		requests := other.Pods[i].Spec.Containers[0].Resources.Requests
		memory := requests[corev1.ResourceMemory]
		memory.Add(*resource.NewQuantity(int64(i), resource.BinarySI))
		requests[corev1.ResourceMemory] = memory
	}
	return &other
}
