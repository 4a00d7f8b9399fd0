package cluster

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// CustomTable holds the objects of a custom resource.
type CustomTable = Table[types.NamespacedName, *unstructured.Unstructured]

// customWriter is the changing side of a CustomTable.
type customWriter = tableWriter[types.NamespacedName, *unstructured.Unstructured]

// Custom are the objects of a custom resource, none when the cluster does not
// have it. The objects must not be changed.
func (o *Objects) Custom(resource schema.GroupVersionResource) CustomTable {
	return o.custom[resource]
}

// SetCustom applies that an object of a custom resource was added or changed.
// The object belongs to the cluster from then on.
func (c *Cluster) SetCustom(resource schema.GroupVersionResource, object *unstructured.Unstructured) {
	c.mu.Lock()
	defer c.mu.Unlock()
	table := c.objects.custom[resource]
	if table == nil {
		table = newTableWriter[types.NamespacedName, *unstructured.Unstructured]()
		c.objects.custom[resource] = table
	}
	table.set(key(object), object)
	c.recordObject(AspectCustom, key(object))
}

// DeleteCustom applies that an object of a custom resource is gone. Only its
// name and namespace are read.
func (c *Cluster) DeleteCustom(resource schema.GroupVersionResource, object *unstructured.Unstructured) {
	c.mu.Lock()
	defer c.mu.Unlock()
	table := c.objects.custom[resource]
	if table == nil {
		return
	}
	if _, known := table.get(key(object)); known {
		table.remove(key(object))
		c.recordObject(AspectCustom, key(object))
	}
}

// DropCustom applies that a custom resource is gone with all its objects.
func (c *Cluster) DropCustom(resource schema.GroupVersionResource) {
	c.mu.Lock()
	defer c.mu.Unlock()
	table := c.objects.custom[resource]
	if table == nil {
		return
	}
	delete(c.objects.custom, resource)
	for object := range table.publish().All() {
		c.recordObject(AspectCustom, object)
	}
}
