package conformance

import (
	"fmt"
	"slices"
	"strings"

	fwk "k8s.io/kube-scheduler/framework"
)

// Answer is what one side says of a pod on a node.
type Answer struct {
	// Code is Success, Unschedulable (evicting pods could help),
	// UnschedulableAndUnresolvable, or Error when a plugin of kube-scheduler failed.
	Code fwk.Code
	// Reasons are why not. None against a node means that it was ruled out before it
	// was looked at, by a PreFilter.
	Reasons []string
	// AnyRejection says that muster may reject the node in any way.
	AnyRejection bool
	// Skipped says that kube-scheduler's filters were not run, since none of them
	// concerns the pod.
	Skipped bool
	// Score is the weighted sum of all scores, compared among the nodes that fit. It is
	// 0 for those that do not.
	Score int64
	// Unscored says that a score of kube-scheduler failed, so that there is nothing to
	// compare.
	Unscored bool
}

// answers are those to every pending pod, on every node, in the scenario's order.
type answers [][]Answer

// repeatedBy says that the other side says the same. It may name any of the reasons.
func (a Answer) repeatedBy(other Answer) bool {
	switch {
	case a.AnyRejection:
		return other.Code != fwk.Success
	case a.Code != other.Code, a.Score != other.Score && !a.Unscored:
		return false
	case len(a.Reasons) == 0:
		return true
	}
	return !slices.ContainsFunc(other.Reasons, func(reason string) bool {
		return !slices.ContainsFunc(a.Reasons, func(theirs string) bool { return reason == theirs || isWithoutName(reason, theirs) })
	})
}

// undecided says that a side rejects a node as it has no time to go on looking for devices. muster takes a second for that,
// kube-scheduler ten.
func (a Answer) undecided() bool {
	return slices.ContainsFunc(a.Reasons, func(reason string) bool {
		return reason == searchTakesTooLong || strings.Contains(reason, "timed out trying to allocate devices")
	})
}

// searchTakesTooLong is muster's reason.
const searchTakesTooLong = "to look for devices takes too long"

// isWithoutName says that a reason is another one without one of its words, and without
// the errors that wrap it. Where kube-scheduler names an object in a reason, muster must
// not: its reasons are constant.
func isWithoutName(reason, named string) bool {
	if cause := strings.LastIndex(named, ": "); cause >= 0 {
		named = named[cause+len(": "):]
	}
	words := strings.Fields(named)
	for i := range words {
		if strings.Join(slices.Delete(slices.Clone(words), i, i+1), " ") == reason {
			return true
		}
	}
	return false
}

// Outcome is a kind of answer.
type Outcome struct {
	Code fwk.Code
	What string
}

// outcome is the kind of the answer to a part of a profile, for a count of how often each came up.
func (a Answer) outcome(of Profile) Outcome {
	outcome := Outcome{Code: a.Code, What: "ruled out by PreFilter"}
	switch {
	case len(of.Filter) == 0:
		outcome.What = fmt.Sprintf("score %3d", a.Score)
	case a.Skipped:
		outcome.What = "skipped"
	case a.Code == fwk.Success:
		outcome.What = "fits"
	case a.Code == fwk.Error:
		outcome.What = "error"
	case len(a.Reasons) > 0:
		outcome.What = a.Reasons[0]
	}
	return outcome
}

func (a Answer) String() string { return fmt.Sprintf("%v %q, score %d", a.Code, a.Reasons, a.Score) }
