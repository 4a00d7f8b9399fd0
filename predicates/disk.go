package predicates

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/cluster"
)

// disk is a volume that pods on one node share only if all of them only read it.
type disk struct {
	kind     diskKind
	name     string
	pool     string   // of an RBD image
	monitors []string // of the Ceph cluster of an RBD image
	readOnly bool     // never for an EBS disk, which cannot be shared at all
}

type diskKind int

const (
	notADisk diskKind = iota
	gceDisk
	ebsDisk
	iscsiTarget
	rbdImage
)

// diskOf is not a disk for volumes that pods may share.
func diskOf(volume *corev1.Volume) disk {
	switch {
	case volume.GCEPersistentDisk != nil:
		return disk{kind: gceDisk, name: volume.GCEPersistentDisk.PDName, readOnly: volume.GCEPersistentDisk.ReadOnly}
	case volume.AWSElasticBlockStore != nil:
		return disk{kind: ebsDisk, name: volume.AWSElasticBlockStore.VolumeID}
	case volume.ISCSI != nil:
		return disk{kind: iscsiTarget, name: volume.ISCSI.IQN, readOnly: volume.ISCSI.ReadOnly}
	case volume.RBD != nil:
		image := volume.RBD
		return disk{kind: rbdImage, name: image.RBDImage, pool: image.RBDPool, monitors: image.CephMonitors, readOnly: image.ReadOnly}
	}
	return disk{}
}

func disksOf(pod *cluster.Pod) []disk {
	var disks []disk
	for i := range pod.Spec.Volumes {
		if d := diskOf(&pod.Spec.Volumes[i]); d.kind != notADisk {
			disks = append(disks, d)
		}
	}
	return disks
}

// conflicts reports whether two pods cannot have these on one node.
func (d disk) conflicts(other disk) bool {
	if d.kind != other.kind || d.name != other.name || d.pool != other.pool || d.readOnly && other.readOnly {
		return false
	}
	return d.kind != rbdImage || slices.ContainsFunc(d.monitors, func(monitor string) bool { return slices.Contains(other.monitors, monitor) })
}
