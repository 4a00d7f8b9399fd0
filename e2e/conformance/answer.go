package conformance

import (
	"fmt"
	"slices"

	fwk "k8s.io/kube-scheduler/framework"
)

// Answer is what one side says of a pod on a node.
type Answer struct {
	// Code is Success, Unschedulable (evicting pods could help) or
	// UnschedulableAndUnresolvable.
	Code fwk.Code
	// Reasons are why not. None against a node means that it was ruled out before it
	// was looked at, by a PreFilter.
	Reasons []string
	// Score is the weighted sum of all scores.
	Score int64
}

// answers are those to every pending pod, on every node, in the scenario's order.
type answers [][]Answer

// repeatedBy says that the other side says the same. It may name any of the reasons.
func (a Answer) repeatedBy(other Answer) bool {
	if a.Code != other.Code || a.Score != other.Score {
		return false
	}
	if len(a.Reasons) == 0 {
		return true
	}
	return !slices.ContainsFunc(other.Reasons, func(reason string) bool { return !slices.Contains(a.Reasons, reason) })
}

// outcome names the kind of answer, for a count of how often each came up.
func (a Answer) outcome() string {
	switch {
	case a.Code == fwk.Success:
		return "fits"
	case len(a.Reasons) == 0:
		return "ruled out by PreFilter"
	default:
		return a.Reasons[0]
	}
}

func (a Answer) String() string { return fmt.Sprintf("%v %q, score %d", a.Code, a.Reasons, a.Score) }
