package cluster

import (
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

// Objects are the objects that are part of no node, at one generation, trimmed
// (see [Trim]). It is immutable, and so is every object in it.
//
// Snapshots share one while nothing in it changes, and the next one shares with
// it all but the shards that changed. So it is cheap to hold the Objects of the
// generation that one saw last, and to look up in both what a [Change] names.
//
// The resourceVersion of an object may be behind: an update that changes nothing
// else leaves the object that was there.
type Objects struct {
	PersistentVolumes      Table[string, *corev1.PersistentVolume]
	PersistentVolumeClaims Table[types.NamespacedName, *corev1.PersistentVolumeClaim]
	StorageClasses         Table[string, *storagev1.StorageClass]
	VolumeAttachments      Table[string, *storagev1.VolumeAttachment]
	CSIDrivers             Table[string, *storagev1.CSIDriver]
	Namespaces             Table[string, *corev1.Namespace]
	Services               Table[types.NamespacedName, *corev1.Service]
	ReplicationControllers Table[types.NamespacedName, *corev1.ReplicationController]
	ReplicaSets            Table[types.NamespacedName, *appsv1.ReplicaSet]
	StatefulSets           Table[types.NamespacedName, *appsv1.StatefulSet]
	DisruptionBudgets      Table[types.NamespacedName, *policyv1.PodDisruptionBudget]
	DeviceClasses          Table[string, *resourcev1.DeviceClass]
	Topologies             Table[TopologyName, *Topology]
	// SharedDevices are the devices of pools that belong to no single node, nil when there are none.
	SharedDevices *Devices
	// Jobs are empty where nobody asked for them.
	Jobs Table[types.NamespacedName, *batchv1.Job]

	custom map[schema.GroupVersionResource]CustomTable
}

// objectsWriter is the changing side of Objects.
type objectsWriter struct {
	next   Objects
	kinds  map[reflect.Type]kindWriter // by the type of the objects
	custom map[schema.GroupVersionResource]*customWriter
}

func (w *objectsWriter) publish() *Objects {
	for _, kind := range w.kinds {
		kind.publish()
	}
	w.next.custom = make(map[schema.GroupVersionResource]CustomTable, len(w.custom))
	for resource, table := range w.custom {
		w.next.custom[resource] = table.publish()
	}
	published := w.next
	return &published
}

// kindWriter changes the objects of one kind. To set or remove one returns the
// aspect that changed, 0 when nothing did.
type kindWriter interface {
	set(apiObject) Aspect
	remove(apiObject) Aspect
	publish()
}

// apiObject is an object of the API.
type apiObject interface {
	runtime.Object
	metav1.Object
}

// object is the pointer to an API type.
type object[T any] interface {
	*T
	apiObject
}

// objectTableWriter is the kindWriter of objects under keys of type K.
type objectTableWriter[K comparable, T any, P object[T]] struct {
	*tableWriter[K, P]
	aspect Aspect
	key    func(metav1.Object) K
	to     *Table[K, P]
	// scaled, if set, says of two states that differ whether it is by no more than AspectWorkload.
	scaled func(last, next P) bool
}

func (w *objectTableWriter[K, T, P]) set(o apiObject) Aspect {
	key, next := w.key(o), o.(P)
	last, known := w.get(key)
	if known && sameButVersion(last, next) {
		return 0
	}
	w.tableWriter.set(key, next)
	if known && w.scaled != nil && w.scaled(last, next) {
		return AspectWorkload
	}
	return w.aspect
}

func (w *objectTableWriter[K, T, P]) remove(o apiObject) Aspect {
	key := w.key(o)
	if _, known := w.get(key); !known {
		return 0
	}
	w.tableWriter.remove(key)
	return w.aspect
}

func (w *objectTableWriter[K, T, P]) publish() { *w.to = w.tableWriter.publish() }

// SamePod reports whether two states of a pod differ in their resourceVersion at most.
func SamePod(a, b *corev1.Pod) bool { return sameButVersion(a, b) }

// sameButVersion reports whether two states of an object differ in their resourceVersion at most. It changes
// neither.
func sameButVersion[T any, P object[T]](a, b P) bool {
	undated := *b
	P(&undated).SetResourceVersion(a.GetResourceVersion())
	return equality.Semantic.DeepEqual(a, P(&undated))
}

// CustomTable holds the objects of a custom resource, which are PodGroups.
type CustomTable = Table[types.NamespacedName, *v1alpha1.Observed]

// customWriter is the changing side of a CustomTable.
type customWriter = tableWriter[types.NamespacedName, *v1alpha1.Observed]

// Custom returns the objects of a custom resource, none when the cluster does not
// have it. They were decoded when the watch showed them, and must not be changed.
func (o *Objects) Custom(resource schema.GroupVersionResource) CustomTable {
	return o.custom[resource]
}

// CustomHandler takes the objects of a custom resource. Its functions are called one at a
// time, but Watched. All but Trim and Watched are required.
type CustomHandler struct {
	// Trim reduces an object to the part that is kept, in memory of the watch as well, and given to the
	// functions below. Its result must have the object's metadata. [Trim] when nil.
	Trim cache.TransformFunc
	// Watched is told when the resource cannot be watched, of another reason for that, and
	// with nil when it can.
	Watched func(error)
	// Set applies that an object was added or changed, Delete that it is gone.
	Set, Delete func(metav1.Object)
	// Older are versions of the resource that are read where its own is not served.
	Older []string
	// BuiltIn says that no definition tells of the resource. It is followed in any case.
	BuiltIn bool
	// Drop applies that the resource is gone with all its objects.
	Drop func()
}

// KeepCustom has the objects of a custom resource kept as [Objects.Custom].
func (c *Cluster) KeepCustom(resource schema.GroupVersionResource) CustomHandler {
	return CustomHandler{
		Set:    func(object metav1.Object) { c.SetCustom(resource, object.(*unstructured.Unstructured)) },
		Delete: func(object metav1.Object) { c.DeleteCustom(resource, object.(*unstructured.Unstructured)) },
		Drop:   func() { c.DropCustom(resource) },
	}
}

// SetCustom applies that an object of a custom resource was added or changed.
// The object belongs to the cluster from then on.
func (c *Cluster) SetCustom(resource schema.GroupVersionResource, object *unstructured.Unstructured) {
	observed := v1alpha1.Observe(object) // takes a while, and needs no lock
	c.mu.Lock()
	defer c.mu.Unlock()
	c.view.setCustom(resource, key(object), observed)
}

// DeleteCustom applies that an object of a custom resource is gone. Only its
// name and namespace are read.
func (c *Cluster) DeleteCustom(resource schema.GroupVersionResource, object *unstructured.Unstructured) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.view.deleteCustom(resource, key(object))
}

// DropCustom applies that a custom resource is gone with all its objects.
func (c *Cluster) DropCustom(resource schema.GroupVersionResource) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.view.dropCustom(resource)
}

// setCustom keeps an object of a custom resource under its name.
func (v *view) setCustom(resource schema.GroupVersionResource, name types.NamespacedName, observed *v1alpha1.Observed) {
	table := v.objects.custom[resource]
	if table == nil {
		table = newTableWriter[types.NamespacedName, *v1alpha1.Observed]()
		v.objects.custom[resource] = table
	}
	table.set(name, observed)
	v.recordObject(AspectCustom, name)
}

func (v *view) deleteCustom(resource schema.GroupVersionResource, name types.NamespacedName) {
	table := v.objects.custom[resource]
	if table == nil {
		return
	}
	if _, known := table.get(name); known {
		table.remove(name)
		v.recordObject(AspectCustom, name)
	}
}

func (v *view) dropCustom(resource schema.GroupVersionResource) {
	table := v.objects.custom[resource]
	if table == nil {
		return
	}
	delete(v.objects.custom, resource)
	for object := range table.publish().All() {
		v.recordObject(AspectCustom, object)
	}
}
