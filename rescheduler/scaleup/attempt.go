package scaleup

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.dev/muster/cluster"
	"muster.dev/muster/rescheduler/planner"
)

// LabelAttempt says the how manyth request of its subject one is, from 1 on.
const LabelAttempt = "rescheduling.muster.dev/attempt"

// After the first request that was of no use another one is made when firstRest has passed. Each further one
// takes twice as long, up to longestRest.
const (
	firstRest   = time.Minute
	longestRest = time.Hour
)

// attempt is one of the requests that were made for a subject, one after the other.
type attempt struct {
	subject string // namespace and name of its first request
	number  int    // 0 for none
	request *unstructured.Unstructured
}

// attemptOf reads which one a request is. One without the label is of a muster that asked once.
func attemptOf(request *unstructured.Unstructured) attempt {
	name, number := request.GetName(), 1
	if n, err := strconv.Atoi(request.GetLabels()[LabelAttempt]); err == nil && n > 1 {
		if first, is := strings.CutSuffix(name, "-"+strconv.Itoa(n)); is {
			name, number = first, n
		}
	}
	return attempt{subject: request.GetNamespace() + "/" + name, number: number, request: request}
}

// nameOfAttempt returns the name of a request. Two processes that both ask again make the same request.
func nameOfAttempt(first string, number int) string {
	if number == 1 {
		return first
	}
	return fmt.Sprintf("%s-%d", first, number)
}

// anew says that it is time to ask again, as a request was of no use, or differs from the configuration.
func (r *Requests) anew(a attempt) bool {
	if class, _, _ := unstructured.NestedString(a.request.Object, "spec", "provisioningClassName"); class != r.ClassName {
		return true
	}
	if parameters, _, _ := unstructured.NestedStringMap(a.request.Object, "spec", "parameters"); !maps.Equal(parameters, r.Parameters) {
		return true
	}
	since, ended := endOf(a.request)
	if created := a.request.GetCreationTimestamp().Time; r.Clock.Since(since) < 0 && created.Before(since) {
		since = created // somebody wrote that it ends yet
	}
	return ended && r.Clock.Since(since) >= restAfter(a.number)
}

// restAfter returns how long nobody is asked after a request that was of no use.
func restAfter(number int) time.Duration {
	rest := firstRest
	for ; number > 1 && rest < longestRest; number-- {
		rest *= 2
	}
	return min(rest, longestRest)
}

// endOf reports whether nothing comes of a request any more, and since when: no nodes could be had, or they are not
// kept for its pods any longer.
func endOf(request *unstructured.Unstructured) (since time.Time, ended bool) {
	conditions, _, _ := unstructured.NestedSlice(request.Object, "status", "conditions")
	for _, c := range conditions {
		fields, _ := c.(map[string]any)
		is, _, _ := unstructured.NestedString(fields, "type")
		status, _, _ := unstructured.NestedString(fields, "status")
		if status != string(metav1.ConditionTrue) || !slices.Contains([]string{"Failed", "BookingExpired", "CapacityRevoked"}, is) {
			continue
		}
		at, _, _ := unstructured.NestedString(fields, "lastTransitionTime")
		since, err := time.Parse(time.RFC3339, at)
		if err != nil {
			since = request.GetCreationTimestamp().Time
		}
		return since, true
	}
	return time.Time{}, false
}

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
	case planner.ReasonNoHomes, planner.ReasonNotAll, planner.ReasonOthersFirst, planner.ReasonMinResources:
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
