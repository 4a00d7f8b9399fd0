package predicates

import "muster.dev/muster/cluster"

// Verdict is what a predicate says of a pod on a node: Fits, or a code for the
// reason against it. The highest bit says that evicting pods from the node would
// not help.
type Verdict uint16

// Verdicts.
const (
	Fits Verdict = iota
	nodeUnschedulable
	nodeNameDiffers
	untoleratedTaint
	affinityDiffers
	addedAffinityDiffers
	hostPortTaken
	tooManyPods
	insufficientCPU
	insufficientMemory
	insufficientEphemeralStorage
	diskTaken
	claimInUse
	claimNameless
	claimMissing
	claimForeign
	claimWithoutVolume
	claimWithoutVolumeAndClass
	classMissing
	classWithoutBindingMode
	volumeMissing
	volumeZoneDiffers
	volumeUntranslatable
	tooManyVolumes
	nodeNotReady
	networkUnavailable
	memoryPressure
	pidPressure
	diskPressure
	podAffinityMalformed
	podAffinityUnmet
	podAntiAffinityUnmet
	existingAntiAffinityUnmet
	serviceAffinityDiffers
	spreadSkewed
	spreadKeyMissing
	spreadMalformed
	unknownNode

	// insufficientScalar + i is for the scalar resource of index i.
	insufficientScalar Verdict = 1 << 8

	// hopeless marks a verdict that holds whatever is evicted.
	hopeless Verdict = 1 << 15

	// UnknownNode is the verdict on a node that the view of the cluster lacks.
	UnknownNode = unknownNode | hopeless
)

// Resolvable says that evicting pods from the node could turn the verdict.
func (v Verdict) Resolvable() bool { return v != Fits && v&hopeless == 0 }

// Reason is the constant text of a verdict, the same as kube-scheduler's. It is
// "" for Fits. The names must be those of the snapshot that was judged.
func (v Verdict) Reason(names *cluster.ResourceNames) string {
	code := v &^ hopeless
	if code >= insufficientScalar {
		return "Insufficient " + string(names.Name(int(code-insufficientScalar)))
	}
	switch code {
	case nodeUnschedulable:
		return "node(s) were unschedulable"
	case nodeNameDiffers:
		return "node(s) didn't match the requested node name"
	case untoleratedTaint:
		return "node(s) had untolerated taint(s)"
	case affinityDiffers:
		return "node(s) didn't match Pod's node affinity/selector"
	case addedAffinityDiffers:
		return "node(s) didn't match scheduler-enforced node affinity"
	case hostPortTaken:
		return "node(s) didn't have free ports for the requested pod ports"
	case tooManyPods:
		return "Too many pods"
	case insufficientCPU:
		return "Insufficient cpu"
	case insufficientMemory:
		return "Insufficient memory"
	case insufficientEphemeralStorage:
		return "Insufficient ephemeral-storage"
	case diskTaken:
		return "node(s) had no available disk"
	case claimInUse:
		return "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
	case claimNameless:
		return "PersistentVolumeClaim had no name"
	case claimMissing: // here and below, kube-scheduler names the object, which is not constant
		return "persistentvolumeclaim not found"
	case claimForeign:
		return "PVC was not created for pod (pod is not owner)"
	case claimWithoutVolume:
		return "PersistentVolume had no name"
	case claimWithoutVolumeAndClass:
		return "PersistentVolumeClaim had no pv name and storageClass name"
	case classMissing:
		return "storageclass.storage.k8s.io not found"
	case classWithoutBindingMode:
		return "VolumeBindingMode not set for StorageClass"
	case volumeMissing:
		return "persistentvolume not found"
	case volumeZoneDiffers:
		return "node(s) had no available volume zone"
	case volumeUntranslatable:
		return "converting volume from inline to csi failed"
	case tooManyVolumes:
		return "node(s) exceed max volume count"
	case nodeNotReady:
		return "node(s) were not ready"
	case networkUnavailable:
		return "node(s) had unavailable network"
	case memoryPressure:
		return "node(s) had memory pressure"
	case pidPressure:
		return "node(s) had pid pressure"
	case diskPressure:
		return "node(s) had disk pressure"
	case podAffinityMalformed: // kube-scheduler adds the parser's words, which are not constant
		return "parsing pod: malformed pod affinity"
	case podAffinityUnmet:
		return "node(s) didn't match pod affinity rules"
	case podAntiAffinityUnmet:
		return "node(s) didn't match pod anti-affinity rules"
	case existingAntiAffinityUnmet:
		return "node(s) didn't satisfy existing pods anti-affinity rules"
	case serviceAffinityDiffers:
		return "node(s) didn't match service affinity"
	case spreadSkewed:
		return "node(s) didn't match pod topology spread constraints"
	case spreadKeyMissing:
		return "node(s) didn't match pod topology spread constraints (missing required label)"
	case spreadMalformed: // kube-scheduler fails on the pod with the parser's words, which are not constant
		return "pod has a malformed topology spread constraint"
	case unknownNode:
		return "node(s) were not known to muster yet"
	}
	return ""
}
