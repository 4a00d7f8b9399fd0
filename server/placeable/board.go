package placeable

import (
	"log/slog"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/cluster"
)

// The resources of Kueue that are followed.
const (
	group   = "kueue.x-k8s.io"
	version = "v1beta2"
)

func workloads() schema.GroupVersionResource { return ofKueue("workloads") }

func admissionChecks() schema.GroupVersionResource { return ofKueue("admissionchecks") }

func resourceFlavors() schema.GroupVersionResource { return ofKueue("resourceflavors") }

func ofKueue(name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: version, Resource: name}
}

// ControllerName is the spec.controllerName of an AdmissionCheck that is answered here.
const ControllerName = "muster.dev/placeable"

// board has what the watch shows of Kueue. It is safe for concurrent use.
type board struct {
	log *slog.Logger

	mu        sync.Mutex
	changed   bool // since it was last read
	workloads map[types.NamespacedName]*workload
	checks    map[string]*unstructured.Unstructured // of this controller
	flavors   map[string]*flavor
}

func newBoard(log *slog.Logger) *board {
	return &board{
		log: log, workloads: map[types.NamespacedName]*workload{}, checks: map[string]*unstructured.Unstructured{}, flavors: map[string]*flavor{},
	}
}

// handled returns the resources to follow, and who takes their objects.
func (b *board) handled() map[schema.GroupVersionResource]cluster.CustomHandler {
	return map[schema.GroupVersionResource]cluster.CustomHandler{
		workloads():       handler(b, b.setWorkload, b.workloads, func(name types.NamespacedName) types.NamespacedName { return name }),
		admissionChecks(): handler(b, b.setCheck, b.checks, unscoped),
		resourceFlavors(): handler(b, b.setFlavor, b.flavors, unscoped),
	}
}

func unscoped(name types.NamespacedName) string { return name.Name }

// handler takes in the objects of one of the maps of a board.
func handler[K comparable, V any](
	b *board, set func(*unstructured.Unstructured), all map[K]V, key func(types.NamespacedName) K,
) cluster.CustomHandler {
	locked := func(change func()) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.changed = true
		change()
	}
	return cluster.CustomHandler{
		Set: func(object metav1.Object) { locked(func() { set(object.(*unstructured.Unstructured)) }) },
		Delete: func(object metav1.Object) {
			locked(func() {
				delete(all, key(types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}))
			})
		},
		Drop: func() { locked(func() { clear(all) }) },
	}
}

// setWorkload takes in a Workload, unless a newer one is known: the watch shows late what this process has written.
func (b *board) setWorkload(object *unstructured.Unstructured) {
	name := types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
	if known := b.workloads[name]; known != nil && known.uid == object.GetUID() {
		order, err := resourceversion.CompareResourceVersion(object.GetResourceVersion(), known.object.GetResourceVersion())
		if err == nil && order < 0 {
			return
		}
	}
	delete(b.workloads, name)
	w, concerns, err := read(object)
	if err != nil {
		b.log.Warn("cannot read a Workload", slog.String("resource", "workloads/"+name.String()), slog.Any("err", err))
		return
	}
	if concerns {
		b.workloads[name] = w
	}
}

// wrote takes in what this process has written, ahead of the watch.
func (b *board) wrote(object *unstructured.Unstructured) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.workloads[types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}] != nil {
		b.setWorkload(object)
	}
}

func (b *board) setCheck(object *unstructured.Unstructured) {
	delete(b.checks, object.GetName())
	if name, _, _ := unstructured.NestedString(object.Object, "spec", "controllerName"); name == ControllerName {
		b.checks[object.GetName()] = object
	}
}

func (b *board) setFlavor(object *unstructured.Unstructured) {
	delete(b.flavors, object.GetName())
	var fields struct {
		Spec flavor `json:"spec"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &fields); err != nil {
		b.log.Warn("cannot read a ResourceFlavor", slog.String("resource", "resourceflavors/"+object.GetName()), slog.Any("err", err))
		return
	}
	b.flavors[object.GetName()] = &fields.Spec
}

// shown is a board at one moment.
type shown struct {
	workloads []*workload
	checks    sets.Set[string]
	inactive  []*unstructured.Unstructured // checks that nobody has said of that they are answered
	flavors   map[string]*flavor
}

// isNews reports whether the board has changed since it was last read.
func (b *board) isNews() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changed
}

// read returns what the board shows.
func (b *board) read() shown {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changed = false
	s := shown{checks: sets.KeySet(b.checks), flavors: maps.Clone(b.flavors)}
	if len(b.checks) == 0 {
		return s
	}
	s.workloads = slices.Collect(maps.Values(b.workloads))
	for _, object := range b.checks {
		if !meta.IsStatusConditionTrue(conditionsOf(object), active) {
			s.inactive = append(s.inactive, object)
		}
	}
	return s
}

func conditionsOf(object *unstructured.Unstructured) []metav1.Condition {
	var fields struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &fields) != nil {
		return nil
	}
	return fields.Status.Conditions
}
