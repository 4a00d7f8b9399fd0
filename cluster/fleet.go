package cluster

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// fleet puts nodes together: of their objects, their CSINodes, measurements of them, and the pods that the
// ledger has there. A part that comes before its node, or outlives it, is kept.
type fleet struct {
	*view

	ledger *ledger
	csi    map[string]*storagev1.CSINode // by node name, known node or not
	usage  map[string]*Usage             // as csi
	inventory
}

// setNode applies that a node came or changed.
func (f *fleet) setNode(object *corev1.Node) {
	if node := f.node(object.Name); node != nil {
		if next, changed := node.withObject(object); next != node {
			f.surprise(next, changed)
		}
		return
	}
	node := newNode(object, f.nextIndex())
	node.CSI, node.Usage, node.Joined = f.csi[object.Name], f.usage[object.Name], f.generation+1
	node.Devices = f.at(object.Name)
	for _, pod := range f.ledger.adopt(object.Name) {
		node = node.WithPod(pod)
	}
	f.addNode(node)
}

// removeNode forgets a node. Its pods stay on record until the watch removes
// them, and come back with a node of the same name.
func (f *fleet) removeNode(name string) {
	node := f.node(name)
	if node == nil {
		return
	}
	for _, pod := range node.Pods {
		f.ledger.orphan(pod, name)
	}
	f.dropNode(node)
}

func (f *fleet) setCSINode(object *storagev1.CSINode) {
	f.csi[object.Name] = object
	f.changeCSI(object.Name, object)
}

func (f *fleet) removeCSINode(name string) {
	delete(f.csi, name)
	f.changeCSI(name, nil)
}

func (f *fleet) changeCSI(name string, object *storagev1.CSINode) {
	if node := f.node(name); node != nil && !sameCSI(node.CSI, object) {
		next := *node
		next.CSI = object
		f.surprise(&next, AspectCSI)
	}
}

// sameCSI reports whether two states of a CSINode say the same of its drivers, nil for none.
func sameCSI(a, b *storagev1.CSINode) bool {
	return a == b || a != nil && b != nil && sameButVersion(a, b)
}

func (f *fleet) setUsage(node string, usage *Usage) {
	if f.usage[node] == usage {
		return
	}
	if usage != nil {
		f.usage[node] = usage
	} else {
		delete(f.usage, node)
	}
	if now := f.node(node); now != nil {
		next := *now
		next.Usage = usage
		f.replace(&next, AspectUsage)
	}
}

// refreshDevices takes over that the devices of some nodes have changed, or under "" the devices that belong to
// no single node.
func (f *fleet) refreshDevices(homes sets.Set[string]) {
	for _, home := range slices.Sorted(maps.Keys(homes)) {
		devices := f.at(home)
		if home == "" {
			if shared := &f.objects.next.SharedDevices; *shared != nil || devices != nil {
				*shared = devices
				f.recordObject(AspectSharedDevices, types.NamespacedName{})
			}
			continue
		}
		if node := f.node(home); node != nil {
			next := *node
			next.Devices = devices
			f.surprise(&next, AspectDevices)
		}
	}
}
