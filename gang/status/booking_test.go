package status

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

func TestTheConditionOfRoomInTimeIsThereOnlyWhileThereIsSomethingToBeSaid(t *testing.T) {
	waiting, started := Counts{Pending: 3}, Counts{Bound: 3}
	booked := &Booking{RoomBooked, "room is booked from about 14:32 UTC"}
	not := &Booking{NoRoomBooked, "no room is booked, as why"}
	is := &metav1.Condition{Status: "True", Reason: "RoomBooked", Message: booked.Words}
	status := v1alpha1.PodGroupStatus{}
	for i, step := range []struct {
		name   string
		counts Counts
		is     *Booking
		want   *metav1.Condition // nil for none
	}{
		{"nothing is known", waiting, nil, nil},
		{"nothing is booked", waiting, &Booking{}, nil},
		{"it can have none", waiting, not, &metav1.Condition{Status: "False", Reason: "NoRoomBooked", Message: not.Words}},
		{"it has one", waiting, booked, is},
		{"another process leads, and does not know yet", waiting, nil, is},
		{"it has lost it", waiting, &Booking{}, nil},
		{"it has one again", waiting, booked, is},
		{"it has started", started, booked, nil},
	} {
		o := Observation{PodGroup: newPodGroup(status), Counts: step.counts, Booking: step.is, Reason: Unschedulable, Message: "m"}
		status = Next(o, first().Add(time.Duration(i)*time.Minute))
		got := meta.FindStatusCondition(status.Conditions, v1alpha1.PodGroupRoomBookedCondition)
		switch {
		case (got == nil) != (step.want == nil):
			t.Errorf("%s: there is %+v, want %+v", step.name, got, step.want)
		case got != nil && (got.Status != step.want.Status || got.Reason != step.want.Reason || got.Message != step.want.Message ||
			got.ObservedGeneration != 2 || got.LastTransitionTime.IsZero()):
			t.Errorf("%s: there is %+v, want %+v", step.name, got, step.want)
		}
		if reason, _ := o.SayRoom(); step.name == "it has started" && reason != None || step.name == "it has one" && reason != RoomBooked {
			t.Errorf("%s: events have the reason %s", step.name, reason)
		}
		if again := Next(Observation{
			PodGroup: newPodGroup(status), Counts: step.counts, Booking: step.is, Reason: Unschedulable, Message: "m",
		}, first().Add(time.Hour)); len(again.Conditions) != len(status.Conditions) {
			t.Errorf("%s: a second look makes other conditions: %+v", step.name, again.Conditions)
		}
	}
}
