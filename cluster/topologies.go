package cluster

import (
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

// Topology is an object that lists the levels of a network, reduced to these. It is immutable.
type Topology struct {
	metav1.TypeMeta   // the API group of its kind
	metav1.ObjectMeta // its name, and nothing else
	// Levels are none where a key is no key of a label, or where there are too many.
	Levels []v1alpha1.TopologyLevel
}

var _ apiObject = (*Topology)(nil)

// TopologyName tells one Topology from others.
type TopologyName struct{ Group, Name string }

// DeepCopyObject implements [runtime.Object].
func (t *Topology) DeepCopyObject() runtime.Object {
	next := *t
	next.Levels = slices.Clone(t.Levels)
	return &next
}

func topologyName(object metav1.Object) TopologyName {
	return TopologyName{object.(*Topology).GroupVersionKind().Group, object.GetName()}
}

// mostLevels is how many levels a Topology may list, as in both projects.
const mostLevels = 16

// topologyOf reduces an object of an API group.
func topologyOf(group string, object *unstructured.Unstructured) *Topology {
	t := &Topology{ObjectMeta: metav1.ObjectMeta{Name: object.GetName(), UID: object.GetUID(), ResourceVersion: object.GetResourceVersion()}}
	t.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Kind: "Topology"})
	spec, _ := object.Object["spec"].(map[string]any)
	levels, _ := spec["levels"].([]any)
	if len(levels) > mostLevels {
		return t
	}
	for _, one := range levels {
		level, _ := one.(map[string]any)
		key, _ := level["nodeLabel"].(string)
		alias, _ := level["alias"].(string)
		if len(validation.IsQualifiedName(key)) > 0 || alias != "" && len(validation.IsQualifiedName(alias)) > 0 {
			t.Levels = nil
			return t
		}
		t.Levels = append(t.Levels, v1alpha1.TopologyLevel{Key: key, Alias: alias})
	}
	return t
}

// resourcesOfTopologies are the resources by their API groups, each with older versions of it.
func resourcesOfTopologies() map[schema.GroupVersionResource][]string {
	of := func(group, version string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Group: group, Version: version, Resource: "topologies"}
	}
	return map[schema.GroupVersionResource][]string{
		of(v1alpha1.GroupKueue, "v1beta2"): {"v1beta1", "v1alpha1"},
		of(v1alpha1.GroupKAI, "v1alpha1"):  nil,
	}
}

// HandledTopologies returns the resources of Topologies to follow, and who takes their objects, see [Objects.Topologies].
func (c *Cluster) HandledTopologies() map[schema.GroupVersionResource]CustomHandler {
	handled := map[schema.GroupVersionResource]CustomHandler{}
	for resource, older := range resourcesOfTopologies() {
		handled[resource] = CustomHandler{
			Trim: func(object any) (any, error) {
				if whole, is := object.(*unstructured.Unstructured); is {
					return topologyOf(resource.Group, whole), nil
				}
				return object, nil // reduced already, or a tombstone of what was
			},
			Set:    func(object metav1.Object) { c.changeTopology(object, kindWriter.set) },
			Delete: func(object metav1.Object) { c.changeTopology(object, kindWriter.remove) },
			Older:  older,
			Drop:   func() { c.dropTopologies(resource.Group) },
		}
	}
	return handled
}

// DumpedTopologies returns how Topologies stand in dumps.
func (c *Cluster) DumpedTopologies() (kinds []CustomKind) {
	for resource, handler := range c.HandledTopologies() {
		for _, version := range append([]string{resource.Version}, handler.Older...) {
			read := resource.GroupResource().WithVersion(version)
			kinds = append(kinds, CustomKind{Kind: read.GroupVersion().WithKind("Topology"), Resource: read, Handler: handler})
		}
	}
	return kinds
}

func (c *Cluster) changeTopology(object metav1.Object, change func(kindWriter, apiObject) Aspect) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if changed := change(c.view.objects.kinds[reflect.TypeFor[*Topology]()], object.(*Topology)); changed != 0 {
		c.view.recordObject(changed, key(object))
	}
}

// dropTopologies applies that a resource is gone with all its objects.
func (c *Cluster) dropTopologies(group string) {
	for name, topology := range c.Snapshot().Topologies.All() {
		if name.Group == group {
			c.changeTopology(topology, kindWriter.remove)
		}
	}
}
