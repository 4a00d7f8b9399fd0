package status

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
)

// Observation describes a group at one moment.
type Observation struct {
	// PodGroup is the object as the watch last showed it, from [v1alpha1.Decode]. It is
	// not changed.
	PodGroup *v1alpha1.PodGroup
	// MinMember is how many pods must start together, 0 when nobody knows. The PodGroup says it itself.
	MinMember int
	Counts    Counts
	// SchedulerName names the scheduler of the group's profile. It is "" when the group has no profile.
	SchedulerName string
	// OccupiedBy are the owners of the pods, as namespace/name, separated by commas.
	OccupiedBy string
	// Owners are the objects that people created, for the pods or for owners of theirs.
	Owners []*metav1.PartialObjectMetadata
	// Member is the pod of the group that was created first, nil when there is none.
	Member *corev1.Pod
	// Note is a further remark, "" for none, and Dissent the part of it about members that disagree.
	Note, Dissent string
	// Reason and Message say why the group waits. They are left out when it does not, and may
	// be empty: then the counts speak.
	Reason  Reason
	Message string
	// Booking tells of room in time for it, nil while that is not known.
	Booking *Booking
}

// Next returns the status that a group is to have: the phase and the conditions
// follow from the counts, the times also from the status before.
//
// The status of a group that has finished stays as it is when its pods are cleaned up. The next pod starts it
// over.
func Next(o Observation, now time.Time) v1alpha1.PodGroupStatus {
	was, c := o.PodGroup.Status, o.Counts
	next := v1alpha1.PodGroupStatus{
		Phase:             Phase(int(o.PodGroup.Spec.MinMember), c),
		OccupiedBy:        o.OccupiedBy,
		Scheduled:         pods(c.scheduled()),
		Running:           pods(c.Running),
		Succeeded:         pods(c.Succeeded),
		Failed:            pods(c.Failed),
		ScheduleStartTime: was.ScheduleStartTime,
		Conditions:        slices.Clone(was.Conditions),
	}
	if was.Phase == v1alpha1.PodGroupFinished && next.Phase != v1alpha1.PodGroupFinished && c.unfinished() == 0 {
		return was
	}
	at := metav1.NewTime(now).Rfc3339Copy() // as it will be read back
	switch next.Phase {
	case v1alpha1.PodGroupPending:
		next.ScheduleStartTime = nil
	case v1alpha1.PodGroupPreScheduling: // trying again
	case v1alpha1.PodGroupScheduling, v1alpha1.PodGroupScheduled, v1alpha1.PodGroupRunning, v1alpha1.PodGroupFailed,
		v1alpha1.PodGroupFinished:
		if next.ScheduleStartTime == nil {
			next.ScheduleStartTime = &at
		}
	}
	for _, condition := range []metav1.Condition{scheduled(o, next.Phase), satisfied(o, next.Phase)} {
		condition.LastTransitionTime = at
		meta.SetStatusCondition(&next.Conditions, condition)
	}
	reason, _ := o.say(next.Phase)
	o.book(&next.Conditions, reason, at)
	return next
}

// pods returns a number of pods as the API has it.
func pods(n int) int32 {
	return int32(n) //nolint:gosec // a cluster has fewer than 2³¹ pods
}

// scheduled returns the condition of that type, without the time.
func scheduled(o Observation, phase v1alpha1.PodGroupPhase) metav1.Condition {
	reason, message := o.say(phase)
	condition := metav1.Condition{
		Type: v1alpha1.PodGroupScheduledCondition, Status: metav1.ConditionFalse, ObservedGeneration: o.PodGroup.Generation,
		Reason: reason.String(), Message: message,
	}
	if reason == Scheduled {
		condition.Status = metav1.ConditionTrue
	}
	return condition
}

// satisfied returns the condition of that type, without the time. Unlike Scheduled it counts no pod that is being deleted.
func satisfied(o Observation, phase v1alpha1.PodGroupPhase) metav1.Condition {
	condition := scheduled(o, phase)
	minMember := o.minMember()
	switch {
	case o.Counts.satisfies(minMember):
	case condition.Status == metav1.ConditionTrue:
		condition.Status, condition.Reason = metav1.ConditionFalse, MembersMissing.String()
		condition.Message = fmt.Sprintf(
			"%d of %d pods are bound, and %d of them are being deleted", o.Counts.scheduled(), minMember, o.Counts.Leaving)
	}
	condition.Type = v1alpha1.PodGroupSatisfiedCondition
	return condition
}

// Say returns the reason why a group waits, or that it is scheduled, and the same in words.
func (o Observation) Say() (Reason, string) { return o.say(Phase(o.minMember(), o.Counts)) }

func (o Observation) say(phase v1alpha1.PodGroupPhase) (reason Reason, message string) {
	c, minMember := o.Counts, o.minMember()
	switch {
	case minMember > 0 && c.scheduled() >= minMember:
		reason, message = Scheduled, fmt.Sprintf("at least %d pods are bound", minMember)
	case o.Reason != None:
		reason, message = o.Reason, o.Message
	case phase == v1alpha1.PodGroupPending:
		reason, message = MembersMissing, fmt.Sprintf("%d of %d pods exist", c.All(), minMember)
	case phase == v1alpha1.PodGroupFailed:
		reason = MembersFailed
		message = fmt.Sprintf("%d pods have failed, and %d of %d are bound", c.Failed, c.scheduled(), minMember)
	default:
		reason = Waiting
		message = fmt.Sprintf("%d of %d pods are bound, and %d wait on their nodes for the others to come", c.scheduled(), minMember, c.Held)
	}
	if o.Note != "" {
		message += "; " + o.Note
	}
	return reason, message
}

func (o Observation) minMember() int {
	if o.PodGroup != nil {
		return int(o.PodGroup.Spec.MinMember)
	}
	return o.MinMember
}

// OccupiedBy names the owners of pods.
func OccupiedBy(pods iter.Seq[*cluster.Pod]) string {
	owners := sets.New[string]()
	for pod := range pods {
		for _, owner := range pod.OwnerReferences {
			owners.Insert(pod.Namespace + "/" + owner.Name)
		}
	}
	return strings.Join(sets.List(owners), ",")
}
