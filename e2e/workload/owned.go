package workload

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// AsPods is the cluster with pods instead of its Deployments and Jobs, owned as if their controllers had created them. No
// kube-controller-manager is needed for them to be there. Jobs are created all the same: muster asks who owns a pod.
func (c *Cluster) AsPods() *Cluster {
	pods := &Cluster{Nodes: c.Nodes, Owners: c.Jobs}
	for _, d := range c.Deployments {
		set := d.Name + "-1"
		pods.add(&d.Spec.Template, int(*d.Spec.Replicas), d.Namespace, "apps/v1", "ReplicaSet", set)
	}
	for _, j := range c.Jobs {
		pods.add(&j.Spec.Template, int(*j.Spec.Completions), j.Namespace, "batch/v1", "Job", j.Name)
	}
	pods.Pods = append(pods.Pods, c.Pods...)
	return pods
}

// add adds pods of a template, as if of a controller.
func (c *Cluster) add(template *corev1.PodTemplateSpec, count int, namespace, apiVersion, kind, name string) {
	for i := range count {
		p := &corev1.Pod{ObjectMeta: *template.ObjectMeta.DeepCopy(), Spec: *template.Spec.DeepCopy()}
		p.Name, p.Namespace = fmt.Sprintf("%s-%05d", name, i), namespace
		p.OwnerReferences = []metav1.OwnerReference{controller(apiVersion, kind, name)}
		c.Pods = append(c.Pods, p)
	}
}

// controller refers to a controller that need not be there.
func controller(apiVersion, kind, name string) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: name, UID: types.UID("uid-of-" + name), Controller: new(true)}
}
