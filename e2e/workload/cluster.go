// Package workload makes clusters to schedule: nodes and what shall run on them.
//
// [Generate] draws a cluster whose shapes resemble production: unequal nodes in unequal
// zones, a small pool of tainted GPU nodes, many small applications and a few huge ones.
// [LoadOpenB] reads the openb trace of a real GPU cluster. Both are functions of their
// input and a seed alone: the same seed gives the same objects in the same order.
//
// The objects are plain API types. [Cluster.CreateNodes] and [Cluster.CreateWorkloads]
// send them to an API server.
package workload

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// Namespace of everything that has one.
const Namespace = corev1.NamespaceDefault

// Cluster is a set of nodes and the workloads meant for them.
type Cluster struct {
	Nodes       []*corev1.Node
	Deployments []*appsv1.Deployment
	Jobs        []*batchv1.Job
	// Pods without an owner, in the order in which they arrive.
	Pods []*corev1.Pod

	// Owners own some of Pods, and are created before them. No controller makes other pods of them.
	Owners []*batchv1.Job
}

// PodCount is the number of pods that the workloads amount to.
func (c *Cluster) PodCount() int {
	n := len(c.Pods)
	for _, d := range c.Deployments {
		n += int(*d.Spec.Replicas)
	}
	for _, j := range c.Jobs {
		n += int(*j.Spec.Completions)
	}
	return n
}

// String counts the workloads.
func (c *Cluster) String() string {
	var counts []string
	for _, kind := range []struct {
		name string
		n    int
	}{{"Deployments", len(c.Deployments)}, {"Jobs", len(c.Jobs)}, {"single pods", len(c.Pods)}} {
		if kind.n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", kind.n, kind.name))
		}
	}
	return strings.Join(counts, ", ")
}

// Templates calls yield with one pod of each workload and how many there are of it.
func (c *Cluster) Templates(yield func(*corev1.PodTemplateSpec, int) bool) {
	for _, d := range c.Deployments {
		if !yield(&d.Spec.Template, int(*d.Spec.Replicas)) {
			return
		}
	}
	for _, j := range c.Jobs {
		if !yield(&j.Spec.Template, int(*j.Spec.Completions)) {
			return
		}
	}
	for _, p := range c.Pods {
		if !yield(&corev1.PodTemplateSpec{ObjectMeta: p.ObjectMeta, Spec: p.Spec}, 1) {
			return
		}
	}
}
