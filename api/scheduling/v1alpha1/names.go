package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// What a PodGroup is called in the API.
const (
	// GroupSigs is the API group of the first PodGroups, which Koordinator uses as well.
	GroupSigs = "scheduling.sigs.k8s.io"
	// GroupX is the API group of the PodGroups of scheduler-plugins today.
	GroupX = "scheduling.x-k8s.io"

	Version  = "v1alpha1"
	Kind     = "PodGroup"
	Resource = "podgroups"
)

// API groups of Topologies: objects that list the levels of a network.
const (
	GroupKueue = "kueue.x-k8s.io"
	GroupKAI   = "kai.scheduler"
)

// Resources are the PodGroups of both API groups.
func Resources() []schema.GroupVersionResource {
	return []schema.GroupVersionResource{ResourceOf(GroupX), ResourceOf(GroupSigs)}
}

// ResourceOf are the PodGroups of an API group.
func ResourceOf(apiGroup string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: apiGroup, Version: Version, Resource: Resource}
}

// Labels whose value is the name of a pod's group, in the pod's own namespace.
const (
	LabelX      = "scheduling.x-k8s.io/pod-group"    // a PodGroup of GroupX
	LabelSigs   = "pod-group.scheduling.sigs.k8s.io" // a PodGroup of GroupSigs
	LabelMuster = "muster.dev/pod-group"             // a group that never has an object
)

// GroupLabels are the labels that make a pod a member of a group. Of several on one pod
// the first one here counts.
func GroupLabels() []string { return []string{LabelX, LabelSigs, LabelMuster} }

// GroupLabel returns which label makes a pod a member of a group, and the group's name;
// false when the pod is of no group. An empty label does not count.
func GroupLabel(labels map[string]string) (label, name string, member bool) {
	for _, label := range GroupLabels() {
		if name := labels[label]; name != "" {
			return label, name, true
		}
	}
	return "", "", false
}

// GroupOf returns what makes a pod a member of a group, which is a label or else
// [AnnotationKoordinatorName], and the group's name; false when the pod is of no group. An annotation that cannot be
// a name does not count.
func GroupOf(labels, annotations map[string]string) (mark, name string, member bool) {
	if label, name, member := GroupLabel(labels); member {
		return label, name, true
	}
	if name := annotations[AnnotationKoordinatorName]; isGroupName(name) {
		return AnnotationKoordinatorName, name, true
	}
	return "", "", false
}

// APIGroupOf returns the API group of the PodGroups that a label names, "" for
// [LabelMuster] and [AnnotationKoordinatorName].
func APIGroupOf(label string) string {
	switch label {
	case LabelX:
		return GroupX
	case LabelSigs:
		return GroupSigs
	default:
		return ""
	}
}

// SchedulingGate keeps a member of a group from kube-scheduler until muster lifts it.
const SchedulingGate = "muster.dev/gang"

// AheadGate keeps a pod of no group from kube-scheduler until muster has a place for it, and lifts it.
const AheadGate = "muster.dev/ahead"

// PlaceholderGate keeps a placeholder pod from being scheduled, for as long as there is one: it keeps room for another
// pod, by its nomination alone.
const PlaceholderGate = "muster.dev/placeholder"

// LabelPlaceholder is on each placeholder pod, with the value "true".
const LabelPlaceholder = "muster.dev/placeholder"

// LabelAhead has pods of no group placed ahead of kube-scheduler: with the value "true" on a pod or on its namespace.
// "false" on a pod opts it out.
const LabelAhead = "muster.dev/ahead"

// Annotations of pods and of PodGroups.
const (
	// AnnotationMinMember, on pods, is the minMember of a group without an object.
	AnnotationMinMember = "muster.dev/min-member"
	// AnnotationMatchPolicy is a [MatchPolicy].
	AnnotationMatchPolicy = "muster.dev/match-policy"
	// AnnotationGangMode is a [GangMode].
	AnnotationGangMode = "muster.dev/gang-mode"
	// AnnotationGroups are the groups that have to start together, as a JSON list of
	// "namespace/name".
	AnnotationGroups = "muster.dev/groups"
	// AnnotationRequiredTopology is the key of a label of nodes. All pods of the group go to nodes with one value of it.
	AnnotationRequiredTopology = "muster.dev/required-topology"
	// AnnotationPreferredTopology is such a key. The nodes of the group have as few values of it as possible.
	AnnotationPreferredTopology = "muster.dev/preferred-topology"
	// AnnotationTopologyWaitFor is how long the group waits for nodes with one value of it before it takes others, as in "5m", which is
	// the default.
	AnnotationTopologyWaitFor = "muster.dev/topology-wait-for"
	// AnnotationTopologyShares are how many pods of the group have nodes with one value of a key each, as in "8,16,16@KEY": minMember
	// together, with another value for each.
	AnnotationTopologyShares = "muster.dev/topology-shares"
	// AnnotationTopologySlices are up to three slices of the group, as in "32@KEY,16@KEY": pods that have nodes with one value
	// of a key. Each divides the one before it, and the first minMember.
	AnnotationTopologySlices = "muster.dev/topology-slices"
	// AnnotationBalancedTopology is such a key. Its values that nodes of the group have share the pods as evenly as possible.
	AnnotationBalancedTopology = "muster.dev/balanced-topology"
	// AnnotationReserveAfter is how long the group waits at least before room is booked for it, as in "30m", or "0" for ever.
	AnnotationReserveAfter = "muster.dev/reserve-after"
	// AnnotationPreemptAfter is how long the group waits for room before others are evicted for it, as in "2m".
	AnnotationPreemptAfter = "muster.dev/preempt-after"
)

// Kueue's annotations of templates of pods, which are taken as they are. Where one of muster's own says the same, that one
// counts.
const (
	// kueuePodSet begins the names of these but the last.
	kueuePodSet = "kueue.x-k8s.io/podset-"
	// AnnotationKueueRequiredTopology is AnnotationRequiredTopology.
	AnnotationKueueRequiredTopology = "kueue.x-k8s.io/podset-required-topology"
	// AnnotationKueuePreferredTopology is AnnotationPreferredTopology.
	AnnotationKueuePreferredTopology = "kueue.x-k8s.io/podset-preferred-topology"
	// AnnotationKueueSliceTopology and AnnotationKueueSliceSize are the key and the size of one slice.
	AnnotationKueueSliceTopology = "kueue.x-k8s.io/podset-slice-required-topology"
	AnnotationKueueSliceSize     = "kueue.x-k8s.io/podset-slice-size"
	// AnnotationKueueSlices are up to three slices in one another, as a JSON list of {"topology": KEY, "size": SIZE}.
	AnnotationKueueSlices = "kueue.x-k8s.io/podset-slice-required-topology-constraints"
	// AnnotationKueueWorkload is on the pods of a workload that Kueue has admitted: its topology-aware scheduling has pinned
	// each of them where its annotations are obeyed, so that they say nothing to muster.
	AnnotationKueueWorkload = "kueue.x-k8s.io/workload"
)

// KAI's annotations of workloads and of templates of pods, which are taken as they are where the first of them names a Topology.
// Where one of muster's own or of Kueue's says the same, that one counts.
const (
	// AnnotationKAITopology is the name of a Topology of KAI's: a list of levels, by keys or by other names for them.
	AnnotationKAITopology = "kai.scheduler/topology"
	// AnnotationKAIRequiredTopology is AnnotationRequiredTopology.
	AnnotationKAIRequiredTopology = "kai.scheduler/topology-required-placement"
	// AnnotationKAIPreferredTopology is AnnotationPreferredTopology.
	AnnotationKAIPreferredTopology = "kai.scheduler/topology-preferred-placement"
	// AnnotationKAISegmentSize and AnnotationKAISegmentTopology are the size and the level of one slice, and
	// AnnotationKAISegmentPreferred a level on which it is better whole.
	AnnotationKAISegmentSize      = "kai.scheduler/segment-size"
	AnnotationKAISegmentTopology  = "kai.scheduler/segment-topology-required-placement"
	AnnotationKAISegmentPreferred = "kai.scheduler/segment-topology-preferred-placement"
)

// AnnotationGangScope says on a Job, a JobSet or another owner of pods which of its pods start together, where something
// else is wanted than what its kind does.
const AnnotationGangScope = "muster.dev/gang-scope"

// Values of [AnnotationGangScope].
const (
	ScopeAll  = "all"  // all of them, also if a Job owns them
	ScopeJob  = "job"  // the pods of each Job of a JobSet
	ScopeNone = "none" // none: they start one by one
)

// AnnotationExpectedRuntime on a pod is how long it runs once it has a node, as in "90s" or "2h30m". It is an estimate: nothing ends the
// pod then.
const AnnotationExpectedRuntime = "muster.dev/expected-runtime"

const (
	// AnnotationMinRuntime on a pod is how long it runs, once it has a node, before it is evicted for others, as in "10m": no more than
	// [MostMinRuntime].
	AnnotationMinRuntime = "muster.dev/min-runtime"
	// AnnotationCheckpointedAt on a pod is when it last saved its work, as RFC 3339 has it: no more than the time since is lost when it is
	// evicted.
	AnnotationCheckpointedAt = "muster.dev/checkpointed-at"
)

// AnnotationWoken is written on a pod to have kube-scheduler try it again.
const AnnotationWoken = "muster.dev/woken"

// MemberAnnotations are muster's annotations of members of a group. Without a group they mean nothing.
func MemberAnnotations() []string {
	return []string{
		AnnotationMinMember, AnnotationMatchPolicy, AnnotationGangMode, AnnotationGroups, AnnotationRequiredTopology,
		AnnotationPreferredTopology, AnnotationTopologyWaitFor, AnnotationTopologyShares, AnnotationTopologySlices,
		AnnotationBalancedTopology, AnnotationReserveAfter, AnnotationPreemptAfter,
	}
}

// PodAnnotations are all annotations of muster's that a pod may have, those included that muster writes.
func PodAnnotations() []string {
	return append(MemberAnnotations(),
		AnnotationGangScope, AnnotationExpectedRuntime, AnnotationMinRuntime, AnnotationCheckpointedAt, AnnotationWoken)
}

// PodLabels are all labels of muster's that a pod may have, those included that muster writes.
func PodLabels() []string {
	return append(GroupLabels(), LabelAhead, LabelPlaceholder, LabelManaged, LabelScheduler)
}

// Koordinator's annotations, which are taken as they are. Where one of muster's own says the same, that one counts.
const (
	// AnnotationKoordinatorName, on pods, is the name of their group, which has no object.
	AnnotationKoordinatorName = "gang.scheduling.koordinator.sh/name"
	// AnnotationKoordinatorMinAvailable is AnnotationMinMember.
	AnnotationKoordinatorMinAvailable = "gang.scheduling.koordinator.sh/min-available"
	// AnnotationKoordinatorWaitingTime is how long a group without an object may take from its plan to quorum, as in
	// "600s".
	AnnotationKoordinatorWaitingTime = "gang.scheduling.koordinator.sh/waiting-time"
	// AnnotationKoordinatorMode is AnnotationGangMode.
	AnnotationKoordinatorMode = "gang.scheduling.koordinator.sh/mode"
	// AnnotationKoordinatorMatchPolicy is Koordinator's AnnotationMatchPolicy. It calls [MatchWaitingAndBound]
	// "waiting-and-running".
	AnnotationKoordinatorMatchPolicy = "gang.scheduling.koordinator.sh/match-policy"
	// AnnotationKoordinatorGroups is AnnotationGroups.
	AnnotationKoordinatorGroups = "gang.scheduling.koordinator.sh/groups"
)

// Extended resources that no node offers and that cost nothing. Where muster is registered as
// managed, kube-scheduler asks it about the pods that ask for them and about no others. There are
// two, as kube-scheduler does not let its two entries for muster manage the same resource.
const (
	// ResourceManaged has kube-scheduler ask filter, prioritize and preempt.
	ResourceManaged corev1.ResourceName = "muster.dev/managed"
	// ResourceBound has kube-scheduler ask bind.
	ResourceBound corev1.ResourceName = "muster.dev/bound"
)

// LabelManaged makes the pods of a namespace managed, with the value "true".
const LabelManaged = "muster.dev/managed"

// Costless says that a resource is only asked for to be managed: it takes no room.
func Costless(name corev1.ResourceName) bool { return name == ResourceManaged || name == ResourceBound }

// LabelScheduler is of namespaces. Its value is the schedulerName of a profile: that of all pods there that name no other
// scheduler than the cluster's default one, where the API server has the policy for it.
const LabelScheduler = "muster.dev/scheduler"
