package predicates

import (
	"math"

	"muster.dev/muster/cluster"
)

// Verdict is the verdict of a predicate on a pod on a node: Fits, or a code for the reason against it. The
// highest bit says that evicting pods from the node would not help.
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
	volumeOutOfReach
	volumeZoneDiffers
	volumeUntranslatable
	tooManyVolumes
	driverMissing
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
	featuresMissing
	podAffinityBeyond
	spreadBeyond
	unknownNode
	leftNode
	resourceClaimMissing
	resourceClaimLeaves
	resourceClaimForeign
	resourceClaimElsewhere
	deviceClassMissing
	devicesUnavailable
	devicesUndecided
	resourceNotOffered

	// pluginReason + i is for reason i of the plugins of other packages; see Plugin.
	pluginReason Verdict = 1 << 7

	// insufficientScalar + i stands for the scalar resource with index i among the resources that the pod asks
	// for.
	insufficientScalar Verdict = 1 << 8

	// hopeless marks a verdict that holds whatever is evicted.
	hopeless Verdict = 1 << 15

	// unjudged stands in for a verdict on a node that was not asked about. No predicate returns it.
	unjudged Verdict = math.MaxUint16

	// UnknownNode is the verdict on a node that the view of the cluster lacks.
	UnknownNode = unknownNode | hopeless

	// LeftNode is the verdict on a node that pods of this kind leave, by a plan of the
	// rescheduler.
	LeftNode = leftNode | hopeless
)

// Resolvable reports whether evicting pods from the node could turn the verdict.
func (v Verdict) Resolvable() bool { return v != Fits && v&hopeless == 0 }

// Hopeless returns the verdict as one that holds whatever is evicted.
func (v Verdict) Hopeless() Verdict { return v | hopeless }

// Reason returns the constant text of a verdict of the profile about a pod, the same as
// kube-scheduler's. It is "" for Fits.
func (p *Profile) Reason(v Verdict, about *cluster.Pod) string {
	switch code := v &^ hopeless; {
	case code >= insufficientScalar:
		return "Insufficient " + string(about.Requests.Scalars[code-insufficientScalar].Name.Value())
	case code >= pluginReason:
		return p.reasons[code-pluginReason]
	default:
		return reasons[code]
	}
}

// reasons are the texts of the codes that are about no resource. Where kube-scheduler names
// an object or adds the words of a parser, they are left out: they are not constant.
var reasons = [...]string{ //nolint:gochecknoglobals // a constant table
	nodeUnschedulable:            "node(s) were unschedulable",
	nodeNameDiffers:              "node(s) didn't match the requested node name",
	untoleratedTaint:             "node(s) had untolerated taint(s)",
	affinityDiffers:              "node(s) didn't match Pod's node affinity/selector",
	addedAffinityDiffers:         "node(s) didn't match scheduler-enforced node affinity",
	hostPortTaken:                "node(s) didn't have free ports for the requested pod ports",
	tooManyPods:                  "Too many pods",
	insufficientCPU:              "Insufficient cpu",
	insufficientMemory:           "Insufficient memory",
	insufficientEphemeralStorage: "Insufficient ephemeral-storage",
	diskTaken:                    "node(s) had no available disk",
	claimInUse: "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by " +
		"another pod",
	claimNameless:              "PersistentVolumeClaim had no name",
	claimMissing:               "persistentvolumeclaim not found",
	claimForeign:               "PVC was not created for pod (pod is not owner)",
	claimWithoutVolume:         "PersistentVolume had no name",
	claimWithoutVolumeAndClass: "PersistentVolumeClaim had no pv name and storageClass name",
	classMissing:               "storageclass.storage.k8s.io not found",
	classWithoutBindingMode:    "VolumeBindingMode not set for StorageClass",
	volumeMissing:              "persistentvolume not found",
	volumeOutOfReach:           "node(s) didn't match PersistentVolume's node affinity",
	volumeZoneDiffers:          "node(s) had no available volume zone",
	volumeUntranslatable:       "converting volume from inline to csi failed",
	tooManyVolumes:             "node(s) exceed max volume count",
	driverMissing:              "CSI driver is not installed on the node",
	nodeNotReady:               "node(s) were not ready",
	networkUnavailable:         "node(s) had unavailable network",
	memoryPressure:             "node(s) had memory pressure",
	pidPressure:                "node(s) had pid pressure",
	diskPressure:               "node(s) had disk pressure",
	podAffinityMalformed:       "parsing pod: malformed pod affinity",
	podAffinityUnmet:           "node(s) didn't match pod affinity rules",
	podAntiAffinityUnmet:       "node(s) didn't match pod anti-affinity rules",
	existingAntiAffinityUnmet:  "node(s) didn't satisfy existing pods anti-affinity rules",
	serviceAffinityDiffers:     "node(s) didn't match service affinity",
	spreadSkewed:               "node(s) didn't match pod topology spread constraints",
	spreadKeyMissing:           "node(s) didn't match pod topology spread constraints (missing required label)",
	spreadMalformed:            "pod has a malformed topology spread constraint",
	featuresMissing:            "node(s) didn't match Pod's required features",
	podAffinityBeyond:          "pod has more than 100 terms of pod affinity, or requirements in one",
	spreadBeyond:               "pod has more than 100 topology spread constraints, or requirements in one",
	unknownNode:                "node(s) were not known to muster yet",
	resourceClaimMissing:       "a resourceclaim of the pod is not there",
	resourceClaimLeaves:        "a resourceclaim of the pod is being deleted",
	resourceClaimForeign:       "a resourceclaim was not created for the pod",
	resourceClaimElsewhere:     "resourceclaim not available on the node",
	deviceClassMissing:         "a device class does not exist",
	devicesUnavailable:         "cannot allocate all claims",
	resourceNotOffered:         "cannot fit resource",
	devicesUndecided:           "to look for devices takes too long",
	leftNode:                   "node(s) are left by such pods, by a plan to move them",
}
