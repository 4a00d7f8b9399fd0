package conformance

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	storagehelpers "k8s.io/component-helpers/storage/volume"
)

// Sizes of the vocabulary of volumes.
const (
	claims      = 6 // in every namespace
	disks       = 8
	classes     = 4
	attachments = 8
)

func claimName(i int) string { return fmt.Sprintf("claim-%d", i) }

func diskName(i int) string { return fmt.Sprintf("disk-%d", i) }

func className(i int) string { return fmt.Sprintf("class-%d", i) }

// drivers are CSI drivers: three that have replaced an in-tree plugin and one that has not.
func drivers() []string {
	return []string{"ebs.csi.aws.com", "pd.csi.storage.gke.io", "disk.csi.azure.com", "x.csi.example.com"}
}

// scratch is the name of ephemeral volumes. Pods of few names have one, so that there are claims for them.
const scratch = "scratch"

// mayHaveScratch says so of the name of a pod, which is "" for a template.
func mayHaveScratch(name string) bool {
	return name == "" || slices.Contains(scratchOwners(), name)
}

func scratchOwners() []string {
	var owners []string
	for i := range 4 {
		owners = append(owners, fmt.Sprintf("pending-%d", i), fmt.Sprintf("placed-%d", i), fmt.Sprintf("asked-%d", i))
	}
	return owners
}

func mountVolumes(s *source, pod *corev1.Pod) {
	if mayHaveScratch(pod.Name) && s.chance(50) {
		ephemeral := &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{}}
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: scratch, VolumeSource: corev1.VolumeSource{Ephemeral: ephemeral}})
	}
	if s.chance(50) {
		return
	}
	for i := range 1 + s.upTo(2) {
		volume := corev1.Volume{Name: fmt.Sprintf("volume-%d", i)}
		if s.chance(60) {
			claim := claimName(s.upTo(claims - 1))
			volume.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim, ReadOnly: s.chance(20)}
		} else {
			volume.VolumeSource = s.inlineVolume()
		}
		pod.Spec.Volumes = append(pod.Spec.Volumes, volume)
	}
}

// untranslatable is the id of an EBS disk that its CSI driver does not understand.
const untranslatable = "aws://zone/what"

// inlineVolume draws a volume that stands in a pod itself.
func (s *source) inlineVolume() corev1.VolumeSource {
	readOnly, name := s.chance(50), one(s, "a", "b")
	switch s.upTo(9) {
	case 0, 1:
		return corev1.VolumeSource{GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{PDName: name, ReadOnly: readOnly}}
	case 2, 3:
		id := one(s, "vol-0", "vol-1", "aws:///vol-1", "aws://zone/vol-2", "aws://zone/vol-2", untranslatable)
		return corev1.VolumeSource{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: id, ReadOnly: readOnly}}
	case 4:
		return corev1.VolumeSource{ISCSI: &corev1.ISCSIVolumeSource{IQN: name, ReadOnly: readOnly}}
	case 5:
		monitors := append(several(s, 2, "m1", "m2", "m3"), name)
		return corev1.VolumeSource{
			RBD: &corev1.RBDVolumeSource{CephMonitors: monitors, RBDPool: one(s, "p", "q"), RBDImage: name, ReadOnly: readOnly},
		}
	case 6:
		kind := one(s, corev1.AzureManagedDisk, corev1.AzureManagedDisk, corev1.AzureManagedDisk, corev1.AzureSharedBlobDisk)
		return corev1.VolumeSource{AzureDisk: &corev1.AzureDiskVolumeSource{DiskName: name, DataDiskURI: "vol-" + name, Kind: &kind}}
	case 7:
		return corev1.VolumeSource{AzureFile: &corev1.AzureFileVolumeSource{SecretName: name, ShareName: name}}
	case 8:
		return one(s,
			corev1.VolumeSource{PortworxVolume: &corev1.PortworxVolumeSource{VolumeID: name}},
			corev1.VolumeSource{Cinder: &corev1.CinderVolumeSource{VolumeID: name}},
			corev1.VolumeSource{VsphereVolume: &corev1.VsphereVirtualDiskVolumeSource{VolumePath: name}})
	default:
		return one(s,
			corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}},
			corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: one(s, drivers()...), ReadOnly: &readOnly}},
			corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: one(s, drivers()...)}},
			corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/" + name}},
			corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Server: name, Path: "/"}})
	}
}

// makeAttachable leaves a pod on a node no disk that could not be attached there: over such a pod kube-scheduler fails
// to place any other one, and muster does not count the disk.
func makeAttachable(_ *source, pod *corev1.Pod) {
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		if volume.AWSElasticBlockStore != nil && volume.AWSElasticBlockStore.VolumeID == untranslatable {
			volume.AWSElasticBlockStore.VolumeID = "vol-0"
		}
		if volume.AzureDisk != nil {
			managed := corev1.AzureManagedDisk
			volume.AzureDisk.Kind = &managed
		}
	}
}

// labelOldZone gives some nodes the labels that zones and regions had before, also with other values.
func labelOldZone(s *source, node *corev1.Node) {
	if node.Labels == nil || s.chance(80) {
		return
	}
	node.Labels[corev1.LabelFailureDomainBetaZone] = one(s, "a", "b")
	if s.chance(50) {
		node.Labels[corev1.LabelFailureDomainBetaRegion] = one(s, "north", "south")
	}
}

// drawClaims draws claims, bound and not, including claims of ephemeral volumes. A pod on a node always has its own
// claim, for the reason of makeAttachable.
func drawClaims(s *source, to *Objects) {
	for _, namespace := range namespaceNames() {
		for i := range claims {
			if s.chance(92) {
				to.PersistentVolumeClaims = append(to.PersistentVolumeClaims, s.claim(namespace, claimName(i)))
			}
		}
		for _, pod := range scratchOwners() {
			if s.chance(30) {
				continue
			}
			claim := s.claim(namespace, pod+"-"+scratch)
			owner := &metav1.ObjectMeta{Name: pod, UID: types.UID(pod)}
			if s.chance(20) && !strings.HasPrefix(pod, "placed-") {
				owner.UID = "somebody-else"
			}
			claim.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, corev1.SchemeGroupVersion.WithKind("Pod"))}
			to.PersistentVolumeClaims = append(to.PersistentVolumeClaims, claim)
		}
	}
}

func (s *source) claim(namespace, name string) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	for range 1 + s.upTo(1) {
		claim.Spec.AccessModes = append(claim.Spec.AccessModes, one(s,
			corev1.ReadWriteOnce, corev1.ReadWriteOnce, corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOncePod))
	}
	if s.chance(70) {
		claim.Spec.VolumeName = diskName(s.upTo(disks - 1))
		if s.chance(80) {
			metav1.SetMetaDataAnnotation(&claim.ObjectMeta, storagehelpers.AnnBindCompleted, "yes")
		}
	}
	if s.chance(90) {
		class := className(s.upTo(classes - 1))
		if s.chance(10) {
			metav1.SetMetaDataAnnotation(&claim.ObjectMeta, corev1.BetaStorageClassAnnotation, class)
			class = ""
		}
		claim.Spec.StorageClassName = &class
	}
	return claim
}

// drawVolumes draws persistent volumes and their classes. A few that claims name are missing.
func drawVolumes(s *source, to *Objects) {
	drawClasses(s, to)
	drawDisks(s, to)
}

func drawDisks(s *source, to *Objects) {
	for i := range disks {
		if s.chance(8) {
			continue
		}
		disk := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: diskName(i), Labels: s.zonesOfADisk()}}
		disk.Spec.NodeAffinity = s.affinityOfADisk()
		id := fmt.Sprintf("vol-%d", s.upTo(3))
		switch s.upTo(7) {
		case 0:
			disk.Spec.AWSElasticBlockStore = &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: one(s, id, "aws://zone/"+id, untranslatable)}
		case 1:
			disk.Spec.GCEPersistentDisk = &corev1.GCEPersistentDiskVolumeSource{PDName: one(s, "a", "b")}
		case 2:
			kind, mode, fs, readOnly := corev1.AzureManagedDisk, corev1.AzureDataDiskCachingNone, "ext4", false
			disk.Spec.AzureDisk = &corev1.AzureDiskVolumeSource{
				DiskName: id, DataDiskURI: id, Kind: &kind, CachingMode: &mode, FSType: &fs, ReadOnly: &readOnly,
			}
		case 3:
			disk.Spec.HostPath = &corev1.HostPathVolumeSource{Path: "/" + id}
		default:
			disk.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: one(s, drivers()...), VolumeHandle: id}
		}
		to.PersistentVolumes = append(to.PersistentVolumes, disk)
	}
}

// affinityOfADisk draws from where a volume can be reached.
func (s *source) affinityOfADisk() *corev1.VolumeNodeAffinity {
	if s.chance(60) {
		return nil
	}
	return &corev1.VolumeNodeAffinity{Required: labelled(
		one(s, zoneLabel, regionLabel), one(s, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn), several(s, 2, "a", "b", "north")...,
	)}
}

// zonesOfADisk draws the labels of a persistent volume: today's and the older ones, lists, and lists with a gap in
// them.
func (s *source) zonesOfADisk() map[string]string {
	labels := map[string]string{}
	if s.chance(40) {
		labels[one(s, zoneLabel, zoneLabel, corev1.LabelFailureDomainBetaZone)] = one(s, "a", "a", "b", "a__b", "b__c", "a__", "")
	}
	if s.chance(25) {
		labels[one(s, regionLabel, regionLabel, corev1.LabelFailureDomainBetaRegion)] = one(s, "north", "south", "north__south")
	}
	return labels
}

func drawClasses(s *source, to *Objects) {
	for i := range classes {
		if s.chance(8) {
			continue
		}
		to.StorageClasses = append(to.StorageClasses, &storagev1.StorageClass{
			ObjectMeta: metav1.ObjectMeta{Name: className(i)},
			Provisioner: one(s, append(
				drivers(), "kubernetes.io/aws-ebs", "kubernetes.io/gce-pd", "kubernetes.io/azure-file", "kubernetes.io/no-provisioner",
			)...),
			VolumeBindingMode: maybe(s, 90,
				storagev1.VolumeBindingWaitForFirstConsumer, storagev1.VolumeBindingWaitForFirstConsumer, storagev1.VolumeBindingImmediate),
		})
	}
}

// drawDrivers draws which drivers are demanded of nodes, as API servers of a release tell it.
func drawDrivers(s *source, to *Objects) {
	for _, name := range drivers() {
		if s.chance(60) {
			continue
		}
		driver := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if demandsDrivers {
			driver.Spec.PreventPodSchedulingIfMissing = maybe(s, 85, s.chance(60))
		}
		to.CSIDrivers = append(to.CSIDrivers, driver)
	}
}

func drawDriversAndAttachments(s *source, to *Objects) {
	drawDrivers(s, to)
	drawAttachments(s, to)
}

// drawAttachments draws what the nodes can attach, and what is attached.
func drawAttachments(s *source, to *Objects) {
	for i := range mostNodes {
		if s.chance(15) {
			continue
		}
		node := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: nodeName(i)}}
		for _, name := range several(s, 4, drivers()...) {
			driver := storagev1.CSINodeDriver{Name: name, NodeID: node.Name}
			if s.chance(80) {
				driver.Allocatable = &storagev1.VolumeNodeResources{Count: new(one(s, int32(0), 1, 1, 2, 2, 3, 4, 6))}
			}
			node.Spec.Drivers = append(node.Spec.Drivers, driver)
		}
		to.CSINodes = append(to.CSINodes, node)
	}
	for i := range s.upTo(attachments) {
		attachment := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("attachment-%d", i)}}
		attachment.Spec.Attacher, attachment.Spec.NodeName = one(s, drivers()...), nodeName(s.upTo(mostNodes-1))
		attachment.Spec.Source.PersistentVolumeName = maybe(s, 95, diskName(s.upTo(disks-1)))
		to.VolumeAttachments = append(to.VolumeAttachments, attachment)
	}
}
