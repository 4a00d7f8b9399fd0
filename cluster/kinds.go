package cluster

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Set applies that an object was added or changed. The object belongs to the
// cluster from then on and must be trimmed (see Trim). Kinds that muster does
// not read are an error.
func (c *Cluster) Set(object runtime.Object) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch o := object.(type) {
	case *corev1.Node:
		c.setNode(o)
	case *corev1.Pod:
		c.setPod(o)
	case *storagev1.CSINode:
		c.setCSINode(o)
	case *corev1.PersistentVolume:
		c.volumes.set(o.Name, o)
		c.record(-1, AspectPersistentVolume)
	case *corev1.PersistentVolumeClaim:
		c.claims.set(key(o), o)
		c.record(-1, AspectPersistentVolumeClaim)
	case *storagev1.StorageClass:
		c.classes.set(o.Name, o)
		c.record(-1, AspectStorageClass)
	case *corev1.Service:
		c.service.set(key(o), o)
		c.record(-1, AspectService)
	case *policyv1.PodDisruptionBudget:
		c.budgets.set(key(o), o)
		c.record(-1, AspectDisruptionBudget)
	default:
		return fmt.Errorf("objects of type %T are not part of the view", object)
	}
	return nil
}

// Delete applies that an object is gone. Only its name, namespace and UID are
// read. Kinds that muster does not read are an error.
func (c *Cluster) Delete(object runtime.Object) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch o := object.(type) {
	case *corev1.Node:
		c.removeNode(o.Name)
	case *corev1.Pod:
		c.removePod(o.UID)
	case *storagev1.CSINode:
		c.removeCSINode(o.Name)
	case *corev1.PersistentVolume:
		c.volumes.remove(o.Name)
		c.record(-1, AspectPersistentVolume)
	case *corev1.PersistentVolumeClaim:
		c.claims.remove(key(o))
		c.record(-1, AspectPersistentVolumeClaim)
	case *storagev1.StorageClass:
		c.classes.remove(o.Name)
		c.record(-1, AspectStorageClass)
	case *corev1.Service:
		c.service.remove(key(o))
		c.record(-1, AspectService)
	case *policyv1.PodDisruptionBudget:
		c.budgets.remove(key(o))
		c.record(-1, AspectDisruptionBudget)
	default:
		return fmt.Errorf("objects of type %T are not part of the view", object)
	}
	return nil
}

func key(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}
