package cluster

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Change is one line of the journal: at that generation, these aspects of that
// node changed, or that object of the cluster as a whole.
type Change struct {
	Generation uint64
	Node       int32 // -1 for an aspect of the cluster as a whole
	Aspects    Aspect
	// Object came, changed or went, when there is no node. Its namespace is "" if its kind has none. The
	// Objects before and after have its two states.
	Object types.NamespacedName
}

// journalLength is the least number of changes that can be replayed. A reader further behind starts over.
const journalLength = 1 << 16

// journal is append-only: a published part of it never changes, so snapshots
// share its memory. Every generation has one change, so the first of them is
// that of the generation after the forgotten ones.
type journal struct {
	changes []Change
	// forgotten is the last generation whose changes are gone.
	forgotten uint64
}

func (j *journal) append(c Change) {
	if len(j.changes) >= 2*journalLength {
		keep := len(j.changes) - journalLength
		j.forgotten = j.changes[keep-1].Generation
		j.changes = append(make([]Change, 0, 2*journalLength), j.changes[keep:]...)
	}
	j.changes = append(j.changes, c)
}

// forget restarts the journal after a generation, which must be the last one.
func (j *journal) forget(generation uint64) { *j = journal{forgotten: generation} }

// since returns what came after a generation, oldest first. It says false when
// part of that is forgotten.
func (j *journal) since(generation uint64) ([]Change, bool) {
	if generation < j.forgotten {
		return nil, false
	}
	seen := min(generation-j.forgotten, uint64(len(j.changes)))
	return slices.Clip(j.changes[seen:]), true
}

// Aspect is a set of things that can change in the cluster and that a verdict
// may depend on. The first ones belong to a node, the last ones to the cluster
// as a whole (a change of those names an object and no node).
type Aspect uint32

// Aspects of a node.
const (
	// AspectAllocatable covers the resources that the node offers.
	AspectAllocatable Aspect = 1 << iota
	// AspectLabels are the node's labels.
	AspectLabels
	// AspectTaints are the node's taints.
	AspectTaints
	// AspectUnschedulable is spec.unschedulable.
	AspectUnschedulable
	// AspectConditions are status.conditions, heartbeats left out.
	AspectConditions
	// AspectImages are the images that the node holds.
	AspectImages
	// AspectCSI is the node's CSINode: drivers and their volume limits.
	AspectCSI
	// AspectRequested is the sum of what the node's pods ask for, and their number.
	AspectRequested
	// AspectPorts are the host ports taken on the node.
	AspectPorts
	// AspectPods are the pods on the node: their presence, labels, volumes and
	// resource claims, and whether they are being deleted.
	AspectPods
	// AspectPodStates covers everything else about those pods: their limits, annotations, priority and quality
	// of service, and when they were scheduled and initialized. A pod that comes or goes does not change it.
	AspectPodStates
	// AspectAnnotations are the node's annotations.
	AspectAnnotations
	// AspectUsage covers the measured usage of the node.
	AspectUsage
	// AspectExpected is the pods that are likely to come to the node.
	AspectExpected
	// AspectFeatures are the features that the node's kubelet declares.
	AspectFeatures
	// AspectDevices covers the devices that the node alone has, and the pods that hold them.
	AspectDevices
)

// Aspects of the cluster as a whole. They include that an object comes or goes.
const (
	// AspectPersistentVolume is any PersistentVolume.
	AspectPersistentVolume = AspectDevices << (1 + iota)
	// AspectPersistentVolumeClaim is any PersistentVolumeClaim.
	AspectPersistentVolumeClaim
	// AspectStorageClass is any StorageClass.
	AspectStorageClass
	// AspectVolumeAttachment is any VolumeAttachment.
	AspectVolumeAttachment
	// AspectCSIDriver is any CSIDriver.
	AspectCSIDriver
	// AspectNamespace is the labels of any Namespace.
	AspectNamespace
	// AspectService is the selector of any Service.
	AspectService
	// AspectSelector is the selector of any ReplicationController, ReplicaSet or
	// StatefulSet.
	AspectSelector
	// AspectDisruptionBudget is any PodDisruptionBudget.
	AspectDisruptionBudget
	// AspectWorkload is how many pods a ReplicationController, ReplicaSet or StatefulSet is to have,
	// and whether it is being deleted; and any Job.
	AspectWorkload
	// AspectCustom is any object of any custom resource.
	AspectCustom
	// AspectNominated is the nominated node of any pod that counts on none; see
	// [Cluster.Nominated].
	AspectNominated
	// AspectDeviceClass is any DeviceClass.
	AspectDeviceClass
	// AspectSharedDevices covers the devices of pools that belong to no single node, and the pods that hold
	// them.
	AspectSharedDevices

	aspectEnd
)

// AspectNode is every aspect of a node: it was added, removed or replaced.
const AspectNode = AspectPersistentVolume - 1

// String names the aspects in a set, as in "labels,taints".
func (a Aspect) String() string {
	names := [...]string{
		"allocatable", "labels", "taints", "unschedulable", "conditions", "images", "csi", "requested", "ports", "pods",
		"podstates", "annotations", "usage", "expected", "features", "devices",
		"persistentvolumes", "persistentvolumeclaims", "storageclasses", "volumeattachments", "csidrivers",
		"namespaces", "services", "selectors", "poddisruptionbudgets", "workloads", "custom", "nominated", "deviceclasses",
		"shareddevices",
	}
	var set []string
	for i, name := range names {
		if a&(1<<i) != 0 {
			set = append(set, name)
		}
	}
	return strings.Join(set, ",")
}
