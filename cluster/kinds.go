package cluster

import (
	"fmt"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// newObjectsWriter lists the kinds of Objects: which aspect a change of one is,
// what it is looked up by, and where it stands.
func newObjectsWriter() *objectsWriter {
	w := &objectsWriter{kinds: map[reflect.Type]kindWriter{}, custom: map[schema.GroupVersionResource]*customWriter{}}
	name := metav1.Object.GetName
	keep(w, AspectPersistentVolume, name, &w.next.PersistentVolumes)
	keep(w, AspectPersistentVolumeClaim, key, &w.next.PersistentVolumeClaims)
	keep(w, AspectStorageClass, name, &w.next.StorageClasses)
	keep(w, AspectVolumeAttachment, name, &w.next.VolumeAttachments)
	keep(w, AspectCSIDriver, name, &w.next.CSIDrivers)
	keep(w, AspectNamespace, name, &w.next.Namespaces)
	keep(w, AspectService, key, &w.next.Services)
	keep(w, AspectSelector, key, &w.next.ReplicationControllers).scaled = sameSelector(func(c *corev1.ReplicationController) any {
		return c.Spec.Selector
	})
	keep(w, AspectSelector, key, &w.next.ReplicaSets).scaled = sameSelector(func(s *appsv1.ReplicaSet) any { return s.Spec.Selector })
	keep(w, AspectSelector, key, &w.next.StatefulSets).scaled = sameSelector(func(s *appsv1.StatefulSet) any { return s.Spec.Selector })
	keep(w, AspectDisruptionBudget, key, &w.next.DisruptionBudgets)
	keep(w, AspectWorkload, key, &w.next.Jobs)
	keep(w, AspectDeviceClass, name, &w.next.DeviceClasses)
	keep(w, AspectCustom, topologyName, &w.next.Topologies)
	return w
}

func keep[K comparable, T any, P object[T]](
	w *objectsWriter, aspect Aspect, key func(metav1.Object) K, to *Table[K, P],
) *objectTableWriter[K, T, P] {
	kind := &objectTableWriter[K, T, P]{tableWriter: newTableWriter[K, P](), aspect: aspect, key: key, to: to}
	w.kinds[reflect.TypeFor[P]()] = kind
	return kind
}

// sameSelector reports whether two states of a controller are the same controller with the same selector: then
// it is only scaled, or being deleted, which does not matter to readers of selectors.
func sameSelector[P apiObject](selector func(P) any) func(last, next P) bool {
	return func(last, next P) bool {
		return last.GetUID() == next.GetUID() && equality.Semantic.DeepEqual(selector(last), selector(next))
	}
}

// Set applies that an object was added or changed. The object belongs to the
// cluster from then on and must be trimmed (see Trim). Kinds that muster does
// not read are an error.
func (c *Cluster) Set(object runtime.Object) error {
	pod, owner := c.livePod(object), c.Owners.reduced(object) // takes a while, and needs no lock
	c.mu.Lock()
	defer c.mu.Unlock()
	if owner != nil {
		c.Owners.affiliate(c.Owners.set(owner))
	}
	if isOfDevices(object) {
		for _, pod := range c.claims.see() {
			c.setPod(pod)
		}
	}
	switch o := object.(type) {
	case *corev1.Node:
		c.fleet.setNode(o)
	case *corev1.Pod:
		if pod == nil {
			c.removePod(o)
		} else {
			c.claims.resolve(pod)
			c.Owners.take(pod)
		}
	case *storagev1.CSINode:
		c.fleet.setCSINode(o)
	case *resourcev1.ResourceSlice:
		c.fleet.refreshDevices(c.fleet.setSlice(o.Name, o))
	case *DeviceTaintRule:
		c.fleet.refreshDevices(c.fleet.setTaintRule(o.Name, o))
	case *resourcev1.ResourceClaim, *resourcev1.ResourceClaimTemplate:
		for _, pod := range c.claims.take(o) {
			c.setPod(pod)
		}
	default:
		return c.view.changeObject(object, kindWriter.set)
	}
	return nil
}

// livePod returns an object as a pod that takes room or asks for it, nil when it is none.
func (c *Cluster) livePod(object runtime.Object) *Pod {
	if o, is := object.(*corev1.Pod); is && !finished(o) && !IsPlaceholderPod(o) {
		return newPod(o, c.affinities.of(o))
	}
	return nil
}

// isOfDevices reports whether an object shows that muster may read objects about devices.
func isOfDevices(object runtime.Object) bool {
	switch object.(type) {
	case *resourcev1.DeviceClass, *resourcev1.ResourceSlice, *resourcev1.ResourceClaim:
		return true
	}
	return false
}

// Delete applies that an object is gone. Only its name, namespace and UID are
// read. Kinds that muster does not read are an error.
func (c *Cluster) Delete(object runtime.Object) error {
	owner := c.Owners.reduced(object)
	c.mu.Lock()
	defer c.mu.Unlock()
	if owner != nil {
		c.Owners.affiliate(c.Owners.remove(keyOf(owner)))
	}
	switch o := object.(type) {
	case *corev1.Node:
		c.fleet.removeNode(o.Name)
	case *corev1.Pod:
		c.removePod(o)
	case *storagev1.CSINode:
		c.fleet.removeCSINode(o.Name)
	case *resourcev1.ResourceSlice:
		c.fleet.refreshDevices(c.fleet.setSlice(o.Name, nil))
	case *DeviceTaintRule:
		c.fleet.refreshDevices(c.fleet.setTaintRule(o.Name, nil))
	case *resourcev1.ResourceClaim:
		for _, pod := range c.claims.change(key(o), nil) {
			c.setPod(pod)
		}
	case *resourcev1.ResourceClaimTemplate:
		delete(c.claims.templates, key(o))
	default:
		return c.view.changeObject(object, kindWriter.remove)
	}
	return nil
}

// changeObject sets or removes an object that is part of no node.
func (v *view) changeObject(object runtime.Object, change func(kindWriter, apiObject) Aspect) error {
	kind, read := v.objects.kinds[reflect.TypeOf(object)]
	if !read {
		return fmt.Errorf("objects of type %T are not part of the view", object)
	}
	o := object.(apiObject)
	if changed := change(kind, o); changed != 0 {
		v.recordObject(changed, key(o))
	}
	return nil
}

func key(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}
