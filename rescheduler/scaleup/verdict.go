package scaleup

import (
	"fmt"

	"muster.dev/muster/cluster"
	"muster.dev/muster/rescheduler/planner"
)

// Verdict is the finding about the waiting pods. Any pod that it does not name has room, or would have.
type Verdict struct {
	// Needs are the groups that moving pods was shown not to help.
	Needs []planner.Refusal
	// Unknown are the groups about which nothing was shown.
	Unknown []planner.Refusal
}

// VerdictOf says what a plan shows. It must have been made without budgets that are only used up for
// the time being: that such a plan gives no room today does not mean that nodes are missing.
func VerdictOf(plan *planner.Plan) Verdict {
	var v Verdict
	for _, refusal := range plan.Unplaced {
		if reasonOf(&refusal) == "" {
			v.Unknown = append(v.Unknown, refusal)
		} else {
			v.Needs = append(v.Needs, refusal)
		}
	}
	return v
}

// reasonOf returns the reason of the condition, "" when a refusal shows nothing.
func reasonOf(refusal *planner.Refusal) string {
	switch refusal.Reason {
	case planner.ReasonNoNode:
		return ReasonNoNodeFits
	case planner.ReasonProtected:
		return ReasonTooLittleMovable
	case planner.ReasonNoHomes, planner.ReasonMinResources:
		return ReasonNoOtherPlace
	default:
		return ""
	}
}

// message says of a pod of a group why moving others does not help.
func message(pod *cluster.Pod, refusal *planner.Refusal) string {
	about := *refusal
	more := ""
	if rest := len(about.Details) - maxDetails; rest > 0 {
		about.Details = about.Details[:maxDetails]
		more = fmt.Sprintf("; and %d more", rest)
	}
	whom := ""
	if pod.Namespace+"/"+pod.Name != refusal.Name {
		whom = " for gang " + refusal.Name
	}
	return fmt.Sprintf("moving other pods would not make room%s, only more nodes help: %s%s", whom, &about, more)
}

// maxDetails bounds a message: an event may have 1024 bytes.
const maxDetails = 5
