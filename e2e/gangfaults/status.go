package gangfaults

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// groupStatus is what the status of a PodGroup says.
type groupStatus struct {
	phase                                 string
	scheduled, running, succeeded, failed int
	condition                             condition
}

// condition is the one of type Scheduled.
type condition struct {
	status          metav1.ConditionStatus
	reason, message string
}

func readStatus(object *unstructured.Unstructured) groupStatus {
	var s groupStatus
	s.phase, _, _ = unstructured.NestedString(object.Object, "status", "phase")
	for name, into := range map[string]*int{
		"scheduled": &s.scheduled, "running": &s.running, "succeeded": &s.succeeded, "failed": &s.failed,
	} {
		count, _, _ := unstructured.NestedInt64(object.Object, "status", name)
		*into = int(count)
	}
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, c := range conditions {
		fields, _ := c.(map[string]any)
		if fields["type"] != "Scheduled" {
			continue
		}
		text := func(key string) string { value, _ := fields[key].(string); return value }
		s.condition = condition{metav1.ConditionStatus(text("status")), text("reason"), text("message")}
	}
	return s
}

// lies are what the status of PodGroups says that is not so.
func (s *state) lies() (lies []string) {
	for key, group := range s.groups {
		if why := group.status.lie(group.minMember, s.standing(key)); why != "" {
			lies = append(lies, fmt.Sprintf("the status of PodGroup %s: %s", key.name, why))
		}
	}
	slices.Sort(lies)
	return lies
}

// lie is what the status says of a gang that is not so, "" when it is true. While pods are being deleted, and of
// pods that may be of a former life, it is not known what it is to say. What a group that has finished says may
// stay when its pods are gone.
func (s groupStatus) lie(minMember int, g standing) string {
	if g.going > 0 || g.older > 0 || s.phase == "Finished" && g.bound+len(g.pending) == 0 {
		return ""
	}
	is := groupStatus{scheduled: g.got(), running: g.running, succeeded: g.succeeded, failed: g.failed}
	says := groupStatus{scheduled: s.scheduled, running: s.running, succeeded: s.succeeded, failed: s.failed}
	if is != says {
		return fmt.Sprintf("it counts %+v, and there are %+v", says, is)
	}
	started := g.got() >= minMember
	switch c := s.condition; {
	case started && (c.status != metav1.ConditionTrue || c.reason != "Scheduled"):
		return fmt.Sprintf("all have places, and the condition is %s, because of %s: %s", c.status, c.reason, c.message)
	case !started && (c.status != metav1.ConditionFalse || c.reason == "" || c.message == ""):
		return fmt.Sprintf("members have no places, and the condition is %s, because of %s: %s", c.status, c.reason, c.message)
	}
	if phases := phasesOf(minMember, g); !slices.Contains(phases, s.phase) {
		return fmt.Sprintf("the phase is %s, want one of %v", s.phase, phases)
	}
	return ""
}

// phasesOf are the phases that a gang may be in: of one without a bound member it is not known here whether some
// are held.
func phasesOf(minMember int, g standing) []string {
	done := g.running + g.succeeded
	switch {
	case g.got()+g.failed+len(g.pending) < minMember:
		return []string{"Pending"}
	case g.succeeded >= minMember:
		return []string{"Finished"}
	case g.failed > 0 && g.failed+done >= minMember:
		return []string{"Failed"}
	case done >= minMember:
		return []string{"Running"}
	case g.got() >= minMember:
		return []string{"Scheduled"}
	case g.got() > 0:
		return []string{"Scheduling"}
	default:
		return []string{"Scheduling", "PreScheduling"}
	}
}
