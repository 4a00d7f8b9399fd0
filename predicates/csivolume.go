package predicates

import (
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	csitranslation "k8s.io/csi-translation-lib"
	"k8s.io/csi-translation-lib/plugins"

	"muster.dev/muster/cluster"
)

// csiVolume is a volume as the CSI driver that attaches it to nodes knows it. The zero
// value is one that no CSI driver attaches, or that is not known.
type csiVolume struct {
	driver string
	// handle is the driver's name for the volume or, of one that is not made yet, the
	// namespace and name of the claim that it will be for.
	handle string
	toBe   bool
}

// mayBeAttached is false for volumes that surely no CSI driver attaches. It looks at
// nothing but the volume.
func mayBeAttached(volume *corev1.Volume) bool {
	return volume.PersistentVolumeClaim != nil || volume.Ephemeral != nil || isReplaced(volume)
}

// isReplaced reports whether a volume is of an in-tree plugin in whose place a CSI driver
// attaches it; see successor.
func isReplaced(volume *corev1.Volume) bool {
	return volume.AWSElasticBlockStore != nil || volume.GCEPersistentDisk != nil || volume.AzureDisk != nil ||
		volume.Cinder != nil || volume.PortworxVolume != nil
}

// inlineCSIVolume returns a volume that stands in the spec of a pod itself. It is an error if
// the driver that has replaced its in-tree plugin could not attach it.
func inlineCSIVolume(volume *corev1.Volume) (csiVolume, error) {
	if !isReplaced(volume) {
		return csiVolume{}, nil
	}
	translated, err := csitranslation.New().TranslateInTreeInlineVolumeToCSI(logr.Discard(), volume, "")
	if err != nil {
		return csiVolume{}, err
	}
	return csiVolume{driver: translated.Spec.CSI.Driver, handle: translated.Spec.CSI.VolumeHandle}, nil
}

// persistentCSIVolume returns the volume that an object describes.
func persistentCSIVolume(object *corev1.PersistentVolume) csiVolume {
	source := object.Spec.CSI
	if source == nil {
		source = translatedSource(object)
	}
	if source == nil || source.Driver == "" || source.VolumeHandle == "" {
		return csiVolume{}
	}
	return csiVolume{driver: source.Driver, handle: source.VolumeHandle}
}

// translatedSource returns how the successor of an in-tree plugin names a volume, nil when it
// has none or could not attach it.
func translatedSource(object *corev1.PersistentVolume) *corev1.CSIPersistentVolumeSource {
	translator := csitranslation.New()
	if !translator.IsPVMigratable(object) {
		return nil
	}
	plugin, err := translator.GetInTreePluginNameFromSpec(object, nil)
	if err != nil || successor(plugin) == "" {
		return nil
	}
	translated, err := translator.TranslateInTreePVToCSI(logr.Discard(), object)
	if err != nil {
		return nil
	}
	return translated.Spec.CSI
}

// successor returns the CSI driver that has replaced an in-tree plugin, "" when there is none that counts:
// kube-scheduler leaves out the drivers of Azure File and vSphere (isCSIMigrationOn in
// pkg/scheduler/framework/plugins/nodevolumelimits/utils.go).
func successor(plugin string) string {
	switch plugin {
	case plugins.AWSEBSInTreePluginName:
		return plugins.AWSEBSDriverName
	case plugins.GCEPDInTreePluginName:
		return plugins.GCEPDDriverName
	case plugins.AzureDiskInTreePluginName:
		return plugins.AzureDiskDriverName
	case plugins.CinderInTreePluginName:
		return plugins.CinderDriverName
	case plugins.PortworxVolumePluginName:
		return plugins.PortworxDriverName
	}
	return ""
}

// isInTreeClass reports whether a storage class is of an in-tree plugin that a driver has replaced.
func isInTreeClass(name string, objects *cluster.Objects) bool {
	class, known := objects.StorageClasses.Get(name)
	return known && csitranslation.New().IsMigratableIntreePluginByName(class.Provisioner)
}

// classDriver returns the driver of the volumes of a storage class, "" when that is not known
// or none that counts.
func classDriver(name string, objects *cluster.Objects) string {
	class, known := objects.StorageClasses.Get(name)
	switch {
	case !known:
		return ""
	case csitranslation.New().IsMigratableIntreePluginByName(class.Provisioner):
		return successor(class.Provisioner)
	}
	return class.Provisioner
}

// claimedVolume describes the volume of a claim. It is the zero value for a claim that does not exist.
type claimedVolume struct {
	// object is the name of the PersistentVolume, "" while the claim has none.
	object string
	// volume is the volume that the object describes or, without such an object, the one that the claim's class
	// will make.
	volume csiVolume
	// classDriver is the driver of the claim's class.
	classDriver string
	// replaced says that the volume is one of an in-tree plugin that a driver has replaced.
	replaced bool
}

func volumeOf(claim *corev1.PersistentVolumeClaim, objects *cluster.Objects) claimedVolume {
	class := storageClassOf(claim)
	claimed := claimedVolume{object: claim.Spec.VolumeName, classDriver: classDriver(class, objects)}
	if object, known := objects.PersistentVolumes.Get(claimed.object); known {
		claimed.volume, claimed.replaced = persistentCSIVolume(object), object.Spec.CSI == nil
	} else if claimed.classDriver != "" {
		name := types.NamespacedName{Namespace: claim.Namespace, Name: claim.Name}
		claimed.volume = csiVolume{driver: claimed.classDriver, handle: name.String(), toBe: true}
		claimed.replaced = isInTreeClass(class, objects)
	}
	return claimed
}

// claimedIn describes the volume of the claim of that name.
func claimedIn(objects *cluster.Objects, name types.NamespacedName) claimedVolume {
	if claim, known := objects.PersistentVolumeClaims.Get(name); known {
		return volumeOf(claim, objects)
	}
	return claimedVolume{}
}
