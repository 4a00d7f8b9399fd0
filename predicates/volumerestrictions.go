package predicates

import (
	"slices"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// volumeRestrictions keeps a pod off a node where another pod has a disk that the two
// cannot share, and off all nodes while any pod has a claim that only one pod may use at a
// time (pkg/scheduler/framework/plugins/volumerestrictions).
type volumeRestrictions struct{}

func newVolumeRestrictions(*config.Profile) (Predicate, error) { return volumeRestrictions{}, nil }

func (volumeRestrictions) Name() string { return config.VolumeRestrictions }

func (volumeRestrictions) Aspects() cluster.Aspect {
	return cluster.AspectPods | cluster.AspectPersistentVolumeClaim
}

func (volumeRestrictions) For(pod *cluster.Pod, snap *cluster.Snapshot) Check {
	c := &volumeRestrictionsCheck{pod: pod, disks: disksOf(pod)}
	c.claims, c.nowhere = exclusiveClaims(pod, snap.Objects)
	if len(c.disks) == 0 && len(c.claims) == 0 && c.nowhere == Fits {
		return nil
	}
	return c
}

// volumeRestrictionsCheck is volumeRestrictions for a pod.
type volumeRestrictionsCheck struct {
	reach

	pod     *cluster.Pod
	disks   []disk
	claims  []string // names of the claims that are for one pod
	nowhere Verdict  // on all nodes, unless it is Fits

	// uses is how often pods use the claims, by index of those nodes where they do, and
	// inUse is their sum: hardly ever more than one.
	uses  map[int32]int
	inUse int
}

func (c *volumeRestrictionsCheck) Verdict(node *cluster.Node) Verdict {
	switch {
	case c.nowhere != Fits:
		return c.nowhere
	case c.conflictsOn(node):
		return diskTaken
	case c.inUse > 0:
		return claimInUse
	}
	return Fits
}

// Verdicts implements [Plural].
func (c *volumeRestrictionsCheck) Verdicts(node *cluster.Node, visit func(Verdict)) {
	if c.nowhere != Fits {
		visit(c.nowhere)
	}
	if c.conflictsOn(node) {
		visit(diskTaken)
	}
	if c.inUse > 0 {
		visit(claimInUse)
	}
}

func (c *volumeRestrictionsCheck) conflictsOn(node *cluster.Node) bool {
	return len(c.disks) > 0 && slices.ContainsFunc(node.Pods, c.conflictsWith)
}

func (c *volumeRestrictionsCheck) conflictsWith(pod *cluster.Pod) bool {
	for i := range pod.Spec.Volumes {
		if taken := diskOf(&pod.Spec.Volumes[i]); taken.kind != notADisk && slices.ContainsFunc(c.disks, taken.conflicts) {
			return true
		}
	}
	return false
}

// Group implements [Spanning].
func (c *volumeRestrictionsCheck) Group(node *cluster.Node) uint64 {
	return ofTruth(c.conflictsOn(node))
}

// Update implements [Digest].
func (c *volumeRestrictionsCheck) Update(snap *cluster.Snapshot, nodes []int32) {
	c.end = int32(snap.IndexEnd()) //nolint:gosec // a cluster has fewer than 2³¹ nodes
	if len(c.claims) == 0 {
		return
	}
	wasInUse := c.inUse > 0
	for _, index := range nodes {
		c.put(index, snap.Node(index))
	}
	c.note(wasInUse)
}

// Suppose implements [Digest].
func (c *volumeRestrictionsCheck) Suppose(_ *cluster.Snapshot, node *cluster.Node) {
	wasInUse := c.inUse > 0
	c.put(node.Index, node)
	c.note(wasInUse)
}

func (c *volumeRestrictionsCheck) note(wasInUse bool) {
	if wasInUse != (c.inUse > 0) {
		c.turnAll()
	}
}

// put takes in the pods of a node, which is nil when it is gone.
func (c *volumeRestrictionsCheck) put(index int32, node *cluster.Node) {
	uses := 0
	if node != nil {
		for _, pod := range node.Pods {
			uses += c.usesBy(pod)
		}
	}
	c.inUse += uses - c.uses[index]
	if uses == 0 {
		delete(c.uses, index)
		return
	}
	if c.uses == nil {
		c.uses = map[int32]int{}
	}
	c.uses[index] = uses
}

// usesBy returns how many volumes of a pod are one of the claims.
func (c *volumeRestrictionsCheck) usesBy(pod *cluster.Pod) int {
	uses := 0
	if pod.Namespace == c.pod.Namespace {
		for i := range pod.Spec.Volumes {
			if claim := pod.Spec.Volumes[i].PersistentVolumeClaim; claim != nil && slices.Contains(c.claims, claim.ClaimName) {
				uses++
			}
		}
	}
	return uses
}

func (c *volumeRestrictionsCheck) minds(pod *cluster.Pod) bool {
	return c.usesBy(pod) > 0 || c.conflictsWith(pod)
}

// DependsOn implements [Selective].
func (c *volumeRestrictionsCheck) DependsOn(_ cluster.Aspect, _ types.NamespacedName, _, after *cluster.Objects) bool {
	claims, nowhere := exclusiveClaims(c.pod, after)
	return nowhere != c.nowhere || !slices.Equal(claims, c.claims)
}

func (c *volumeRestrictionsCheck) size() int64 {
	return int64(unsafe.Sizeof(*c)) + int64(len(c.disks))*int64(unsafe.Sizeof(disk{})) + int64(
		len(c.claims),
	)*int64(unsafe.Sizeof("")) + int64(len(c.uses))*int64(unsafe.Sizeof(int32(0))+unsafe.Sizeof(0))
}

// exclusiveClaims returns the names of a pod's claims that only one pod may use at a time, or
// the verdict on the pod everywhere.
func exclusiveClaims(pod *cluster.Pod, objects *cluster.Objects) ([]string, Verdict) {
	var exclusive []string
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		if volume.PersistentVolumeClaim == nil {
			continue // an ephemeral volume is its pod's alone
		}
		claim, problem := claimOf(pod, volume, objects)
		if problem != Fits {
			return nil, problem
		}
		if slices.Contains(claim.Spec.AccessModes, corev1.ReadWriteOncePod) {
			exclusive = append(exclusive, claim.Name)
		}
	}
	return exclusive, Fits
}
