package predicates

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// mounting gives the pod volumes, named volume-0 and so on.
func mounting(sources ...corev1.VolumeSource) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		for _, source := range sources {
			name := fmt.Sprintf("volume-%d", len(p.Spec.Volumes))
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: source})
		}
	}
}

// claiming gives the pod volumes that stand for claims.
func claiming(names ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		for _, name := range names {
			mounting(claimed(name))(p)
		}
	}
}

func claimed(name string) corev1.VolumeSource {
	return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}
}

func ephemeralVolume() corev1.VolumeSource {
	return corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}
}

func gcePD(name string, readOnly bool) corev1.VolumeSource {
	return corev1.VolumeSource{GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{PDName: name, ReadOnly: readOnly}}
}

func ebs(id string) corev1.VolumeSource {
	return corev1.VolumeSource{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: id}}
}

func iscsi(iqn string, readOnly bool) corev1.VolumeSource {
	return corev1.VolumeSource{ISCSI: &corev1.ISCSIVolumeSource{IQN: iqn, ReadOnly: readOnly}}
}

func rbd(pool, image string, readOnly bool, monitors ...string) corev1.VolumeSource {
	return corev1.VolumeSource{RBD: &corev1.RBDVolumeSource{RBDPool: pool, RBDImage: image, ReadOnly: readOnly, CephMonitors: monitors}}
}

// claim is a claim in the namespace of most pods, without a class and a volume.
func claim(name string, change ...func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault}}
	for _, f := range change {
		f(c)
	}
	return c
}

func boundTo(volume string) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = volume }
}

func ofClass(class string) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = &class }
}

func accessedBy(modes ...corev1.PersistentVolumeAccessMode) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) { c.Spec.AccessModes = modes }
}

func madeFor(pod types.UID) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) {
		yes := true
		c.OwnerReferences = []metav1.OwnerReference{{UID: pod, Controller: &yes}}
	}
}

func persistentVolume(name string, change ...func(*corev1.PersistentVolume)) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, f := range change {
		f(v)
	}
	return v
}

func attachedBy(driver, handle string) func(*corev1.PersistentVolume) {
	return func(v *corev1.PersistentVolume) {
		v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: handle}
	}
}

func onEBS(id string) func(*corev1.PersistentVolume) {
	return func(v *corev1.PersistentVolume) {
		v.Spec.AWSElasticBlockStore = &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: id}
	}
}

func inHostPath(v *corev1.PersistentVolume) { v.Spec.HostPath = &corev1.HostPathVolumeSource{} }

func marked(label, value string) func(*corev1.PersistentVolume) {
	return func(v *corev1.PersistentVolume) { metav1.SetMetaDataLabel(&v.ObjectMeta, label, value) }
}

// storageClass has no binding mode when that is "".
func storageClass(name, provisioner string, mode storagev1.VolumeBindingMode) *storagev1.StorageClass {
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner}
	if mode != "" {
		class.VolumeBindingMode = &mode
	}
	return class
}

// csiNode has one driver that attaches up to limit volumes, or any number when limit is negative.
func csiNode(name, driver string, limit int32) *storagev1.CSINode {
	d := storagev1.CSINodeDriver{Name: driver}
	if limit >= 0 {
		d.Allocatable = &storagev1.VolumeNodeResources{Count: &limit}
	}
	return &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{d}}}
}

// csiDriver keeps pods off nodes that lack the driver, if that is demanded.
func csiDriver(name string, demanded bool) *storagev1.CSIDriver {
	return &storagev1.CSIDriver{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: storagev1.CSIDriverSpec{PreventPodSchedulingIfMissing: &demanded},
	}
}

func attachment(name, node, driver, volume string) *storagev1.VolumeAttachment {
	return &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: storagev1.VolumeAttachmentSpec{
			Attacher: driver,
			NodeName: node,
			Source:   storagev1.VolumeAttachmentSource{PersistentVolumeName: &volume},
		},
	}
}
