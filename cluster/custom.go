package cluster

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

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

// keepCustom has the objects of a custom resource kept as [Objects.Custom].
func keepCustom(c *Cluster, resource schema.GroupVersionResource) CustomHandler {
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
