package cluster

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// CustomTable holds the objects of a custom resource.
type CustomTable = Table[types.NamespacedName, *unstructured.Unstructured]

// Custom are the objects of a custom resource, none when the cluster does not
// have it. The objects must not be changed.
func (s *Snapshot) Custom(resource schema.GroupVersionResource) CustomTable {
	return s.custom[resource]
}

// SetCustom applies that an object of a custom resource was added or changed.
// The object belongs to the cluster from then on.
func (c *Cluster) SetCustom(resource schema.GroupVersionResource, object *unstructured.Unstructured) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.custom.of(resource).set(key(object), object)
	c.record(-1, AspectCustom)
}

// DeleteCustom applies that an object of a custom resource is gone. Only its
// name and namespace are read.
func (c *Cluster) DeleteCustom(resource schema.GroupVersionResource, object *unstructured.Unstructured) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.custom.of(resource).remove(key(object))
	c.record(-1, AspectCustom)
}

// DropCustom applies that a custom resource is gone with all its objects.
func (c *Cluster) DropCustom(resource schema.GroupVersionResource) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.custom.tables[resource]; known {
		c.custom.drop(resource)
		c.record(-1, AspectCustom)
	}
}

// customWriter is the changing side of the custom tables of a snapshot.
type customWriter struct {
	tables map[schema.GroupVersionResource]*tableWriter[types.NamespacedName, *unstructured.Unstructured]
	last   map[schema.GroupVersionResource]CustomTable // shared with snapshots
	dirty  bool
}

func newCustomWriter() *customWriter {
	return &customWriter{tables: map[schema.GroupVersionResource]*tableWriter[types.NamespacedName, *unstructured.Unstructured]{}}
}

// of is the table of a resource, for a change.
func (w *customWriter) of(resource schema.GroupVersionResource) *tableWriter[types.NamespacedName, *unstructured.Unstructured] {
	w.dirty = true
	table := w.tables[resource]
	if table == nil {
		table = newTableWriter[types.NamespacedName, *unstructured.Unstructured]()
		w.tables[resource] = table
	}
	return table
}

func (w *customWriter) drop(resource schema.GroupVersionResource) {
	delete(w.tables, resource)
	w.dirty = true
}

func (w *customWriter) publish() map[schema.GroupVersionResource]CustomTable {
	if w.dirty {
		w.last, w.dirty = make(map[schema.GroupVersionResource]CustomTable, len(w.tables)), false
		for resource, table := range w.tables {
			w.last[resource] = table.publish()
		}
	}
	return w.last
}
