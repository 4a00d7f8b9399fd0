package predicates

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// volumeZone holds a pod to the zones and regions that the volumes of its claims are
// labelled with (pkg/scheduler/framework/plugins/volumezone). A claim without a volume
// does not matter if its volume is made once the pod has a node; other claims must have
// theirs first.
type volumeZone struct{}

func newVolumeZone(*config.Profile) (Predicate, error) { return volumeZone{}, nil }

func (volumeZone) Name() string { return config.VolumeZone }

func (volumeZone) Aspects() cluster.Aspect {
	return cluster.AspectLabels | cluster.AspectPersistentVolume | cluster.AspectPersistentVolumeClaim | cluster.AspectStorageClass
}

func (volumeZone) For(pod *cluster.Pod, snap *cluster.Snapshot) Check {
	zones, nowhere := zonesOfVolumes(pod, snap.Objects)
	if len(zones) == 0 && nowhere == Fits {
		return nil
	}
	return &volumeZoneCheck{pod: pod, zones: zones, nowhere: nowhere}
}

// volumeZoneCheck is volumeZone for a pod.
type volumeZoneCheck struct {
	pod     *cluster.Pod
	zones   []zoneRequirement
	nowhere Verdict // on all nodes, unless it is Fits
}

// zoneRequirement is a zone label of a volume: a node must have the label, by the same
// name or by the one that has come in its place, with one of the values.
type zoneRequirement struct {
	key, todaysKey string
	values         []string
}

// zoneLabels returns the labels that tie a volume to nodes, and the names that they have today.
func zoneLabels() [4][2]string {
	return [4][2]string{
		{corev1.LabelFailureDomainBetaZone, corev1.LabelTopologyZone},
		{corev1.LabelFailureDomainBetaRegion, corev1.LabelTopologyRegion},
		{corev1.LabelTopologyZone, corev1.LabelTopologyZone},
		{corev1.LabelTopologyRegion, corev1.LabelTopologyRegion},
	}
}

func (c *volumeZoneCheck) Verdict(node *cluster.Node) Verdict {
	if c.nowhere != Fits {
		return c.nowhere
	}
	if !hasZoneLabel(node) { // a cluster of one zone may have none
		return Fits
	}
	for _, zone := range c.zones {
		value, labelled := node.Labels[zone.key]
		if !labelled {
			value, labelled = node.Labels[zone.todaysKey]
		}
		if !labelled || !slices.Contains(zone.values, value) {
			return volumeZoneDiffers | hopeless
		}
	}
	return Fits
}

func hasZoneLabel(node *cluster.Node) bool {
	for _, label := range zoneLabels() {
		if _, has := node.Labels[label[0]]; has {
			return true
		}
	}
	return false
}

// DependsOn implements [Selective].
func (c *volumeZoneCheck) DependsOn(_ cluster.Aspect, _ types.NamespacedName, _, after *cluster.Objects) bool {
	zones, nowhere := zonesOfVolumes(c.pod, after)
	return nowhere != c.nowhere || !slices.EqualFunc(zones, c.zones, zoneRequirement.equal)
}

func (r zoneRequirement) equal(other zoneRequirement) bool {
	return r.key == other.key && slices.Equal(r.values, other.values)
}

// zonesOfVolumes returns the zone labels of the volumes of a pod, or the verdict on it
// everywhere.
func zonesOfVolumes(pod *cluster.Pod, objects *cluster.Objects) ([]zoneRequirement, Verdict) {
	var zones []zoneRequirement
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		if volume.PersistentVolumeClaim == nil {
			continue // nor does kube-scheduler look at ephemeral volumes here
		}
		claim, problem := claimOf(pod, volume, objects)
		if problem != Fits {
			return nil, problem
		}
		if claim.Spec.VolumeName == "" {
			if problem := unbound(claim, objects); problem != Fits {
				return nil, problem
			}
			continue
		}
		bound, known := objects.PersistentVolumes.Get(claim.Spec.VolumeName)
		if !known {
			return nil, volumeMissing | hopeless
		}
		zones = append(zones, zonesOf(bound)...)
	}
	return zones, Fits
}

// unbound returns the reason why a pod with an unbound claim cannot run anywhere.
func unbound(claim *corev1.PersistentVolumeClaim, objects *cluster.Objects) Verdict {
	name := storageClassOf(claim)
	if name == "" {
		return claimWithoutVolumeAndClass | hopeless
	}
	class, known := objects.StorageClasses.Get(name)
	switch {
	case !known:
		return classMissing | hopeless
	case class.VolumeBindingMode == nil:
		return classWithoutBindingMode | hopeless
	case *class.VolumeBindingMode != storagev1.VolumeBindingWaitForFirstConsumer:
		return claimWithoutVolume | hopeless
	}
	return Fits
}

// zonesOf returns the zone labels of a volume. One may list several zones, as in "a__b"; a
// list with a gap in it says nothing (LabelZonesToSet in
// k8s.io/cloud-provider/volume/helpers).
func zonesOf(volume *corev1.PersistentVolume) []zoneRequirement {
	var zones []zoneRequirement
	for _, label := range zoneLabels() {
		value, labelled := volume.Labels[label[0]]
		values := strings.Split(value, "__")
		if labelled && !slices.Contains(values, "") {
			zones = append(zones, zoneRequirement{key: label[0], todaysKey: label[1], values: values})
		}
	}
	return zones
}
