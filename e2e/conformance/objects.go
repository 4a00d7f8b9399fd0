package conformance

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"muster.dev/muster/cluster"
)

// Objects of a cluster that are neither nodes nor pods.
type Objects struct {
	Namespaces             []*corev1.Namespace             `json:"namespaces,omitempty"`
	Services               []*corev1.Service               `json:"services,omitempty"`
	ReplicationControllers []*corev1.ReplicationController `json:"replicationControllers,omitempty"`
	ReplicaSets            []*appsv1.ReplicaSet            `json:"replicaSets,omitempty"`
	StatefulSets           []*appsv1.StatefulSet           `json:"statefulSets,omitempty"`
	PersistentVolumes      []*corev1.PersistentVolume      `json:"persistentVolumes,omitempty"`
	PersistentVolumeClaims []*corev1.PersistentVolumeClaim `json:"persistentVolumeClaims,omitempty"`
	StorageClasses         []*storagev1.StorageClass       `json:"storageClasses,omitempty"`
	CSINodes               []*storagev1.CSINode            `json:"csiNodes,omitempty"`
	VolumeAttachments      []*storagev1.VolumeAttachment   `json:"volumeAttachments,omitempty"`
	PodDisruptionBudgets   []*policyv1.PodDisruptionBudget `json:"podDisruptionBudgets,omitempty"`
	DeviceClasses          []*resourcev1.DeviceClass       `json:"deviceClasses,omitempty"`
	ResourceSlices         []*resourcev1.ResourceSlice     `json:"resourceSlices,omitempty"`
	DeviceTaintRules       []*cluster.DeviceTaintRule      `json:"deviceTaintRules,omitempty"`
	ResourceClaims         []*resourcev1.ResourceClaim     `json:"resourceClaims,omitempty"`
}

// kind is the objects of one kind, and the informer that kube-scheduler's plugins read
// them from, if they do.
type kind struct {
	objects  []runtime.Object
	informer func(informers.SharedInformerFactory) cache.SharedIndexInformer
}

// kinds is the one list of them.
func (o *Objects) kinds() []kind {
	type factory = informers.SharedInformerFactory
	type informer = cache.SharedIndexInformer
	return []kind{
		{plainly(o.Namespaces), func(f factory) informer { return f.Core().V1().Namespaces().Informer() }},
		{plainly(o.Services), func(f factory) informer { return f.Core().V1().Services().Informer() }},
		{plainly(o.ReplicationControllers), func(f factory) informer { return f.Core().V1().ReplicationControllers().Informer() }},
		{plainly(o.ReplicaSets), func(f factory) informer { return f.Apps().V1().ReplicaSets().Informer() }},
		{plainly(o.StatefulSets), func(f factory) informer { return f.Apps().V1().StatefulSets().Informer() }},
		{plainly(o.PersistentVolumes), func(f factory) informer { return f.Core().V1().PersistentVolumes().Informer() }},
		{plainly(o.PersistentVolumeClaims), func(f factory) informer { return f.Core().V1().PersistentVolumeClaims().Informer() }},
		{plainly(o.StorageClasses), func(f factory) informer { return f.Storage().V1().StorageClasses().Informer() }},
		{plainly(o.CSINodes), func(f factory) informer { return f.Storage().V1().CSINodes().Informer() }},
		{plainly(o.VolumeAttachments), func(f factory) informer { return f.Storage().V1().VolumeAttachments().Informer() }},
		{plainly(o.PodDisruptionBudgets), func(f factory) informer { return f.Policy().V1().PodDisruptionBudgets().Informer() }},
		{plainly(o.DeviceClasses), func(f factory) informer { return f.Resource().V1().DeviceClasses().Informer() }},
		{plainly(o.ResourceSlices), func(f factory) informer { return f.Resource().V1().ResourceSlices().Informer() }},
		{objects: plainly(o.DeviceTaintRules)}, // see tainted
		{plainly(o.ResourceClaims), func(f factory) informer { return f.Resource().V1().ResourceClaims().Informer() }},
	}
}

func plainly[T runtime.Object](objects []T) []runtime.Object {
	plain := make([]runtime.Object, len(objects))
	for i, object := range objects {
		plain[i] = object
	}
	return plain
}

// all are the objects of all kinds.
func (o *Objects) all() []runtime.Object {
	var all []runtime.Object
	for _, kind := range o.kinds() {
		all = append(all, kind.objects...)
	}
	return all
}

// fill puts the objects where the listers of informers that never start find them.
func (o *Objects) fill(factory informers.SharedInformerFactory) error {
	for _, kind := range o.kinds() {
		if kind.informer == nil {
			continue
		}
		indexer := kind.informer(factory).GetIndexer()
		for _, object := range kind.objects {
			if err := indexer.Add(object); err != nil {
				return err
			}
		}
	}
	return nil
}
