package status

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

// Booking tells people of room in time for a group: [RoomBooked] or [NoRoomBooked], and the same in words; the zero value tells nothing.
type Booking struct {
	Reason Reason
	Words  string
}

// told returns what is told of room in time for a group, nothing once it has started. It reports false while that is not known.
func (o Observation) told(reason Reason) (booking Booking, known bool) {
	switch {
	case reason == Scheduled:
		return Booking{}, true
	case o.Booking == nil:
		return Booking{}, false
	}
	return *o.Booking, true
}

// book has the conditions say what is told of room in time. While that is not known they say what they said.
func (o Observation) book(conditions *[]metav1.Condition, reason Reason, at metav1.Time) {
	booking, known := o.told(reason)
	switch {
	case !known:
		return
	case booking.Reason == None:
		meta.RemoveStatusCondition(conditions, v1alpha1.PodGroupRoomBookedCondition)
		return
	}
	condition := metav1.Condition{
		Type: v1alpha1.PodGroupRoomBookedCondition, Status: metav1.ConditionFalse, ObservedGeneration: o.PodGroup.Generation,
		Reason: booking.Reason.String(), Message: booking.Words, LastTransitionTime: at,
	}
	if booking.Reason == RoomBooked {
		condition.Status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(conditions, condition)
}

// SayRoom returns what is to be told of room in time for the group, [None] for nothing.
func (o Observation) SayRoom() (Reason, string) {
	reason, _ := o.Say()
	booking, _ := o.told(reason)
	return booking.Reason, booking.Words
}
