package gangfaults

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/e2e/campaigns/faultcampaign"
)

// roundLimit is longer than it takes to evict all pods that one plan counts on. Who is evicted later goes for
// another plan.
const roundLimit = 5 * time.Second

// eviction is a pod that went to make room for a gang that had not started.
type eviction struct {
	at     time.Time // it was gone
	victim string
	gang   groupKey
}

// evictions are what kube-scheduler and muster told of, in their order. An event that was lost is not missed here.
func evictions(history []entry) (all []eviction) {
	s, pods, keys := newState(), map[types.UID]*corev1.Pod{}, map[string]groupKey{}
	gone := map[types.UID]time.Time{}
	for _, e := range history {
		if e.pod != nil && e.gone {
			gone[e.pod.UID] = e.at
		}
	}
	seen := map[types.UID]bool{}
	for _, e := range history {
		s.apply(e)
		switch {
		case e.pod != nil:
			pods[e.pod.UID] = e.pod
			keys[keyOf(e.pod).name] = keyOf(e.pod)
		case e.event != nil && e.event.Reason == "Preempted" && !seen[e.event.InvolvedObject.UID]:
			key := keys[beneficiary(e.event, pods)]
			at, went := gone[e.event.InvolvedObject.UID]
			if key.name == "" || !went || s.standing(key).whole() {
				continue
			}
			seen[e.event.InvolvedObject.UID] = true
			all = append(all, eviction{at, e.event.InvolvedObject.Name, key})
		}
	}
	slices.SortStableFunc(all, func(a, b eviction) int { return a.at.Compare(b.at) })
	return all
}

// beneficiary is the gang that somebody was evicted for, by an event of muster's or of kube-scheduler's.
func beneficiary(e *corev1.Event, pods map[types.UID]*corev1.Pod) string {
	if _, gang, is := strings.Cut(e.Message, "to make room for gang "); is {
		_, name, _ := strings.Cut(gang, "/")
		return name
	}
	_, by, _ := strings.Cut(e.Message, "Preempted by pod ")
	uid, _, _ := strings.Cut(by, " ")
	if pod := pods[types.UID(uid)]; pod != nil {
		return keyOf(pod).name
	}
	return ""
}

// course is the history of a gang, and around it, that has to do with evictions for it.
type course struct {
	whole   []time.Time // it was
	changes []time.Time // of its members and of what is asked of it
	nodes   []time.Time // that came or went, or were cordoned
	rivals  []time.Time // pods of no lower priority were bound
	short   bool        // in the end it has too few members, apart from ones that the scheduler refuses
}

// courseOf replays a history for a gang.
func courseOf(history []entry, key groupKey) course {
	var c course
	s := newState()
	priority, asked := int32(0), 0
	for _, e := range history {
		var was *corev1.Pod
		if e.pod != nil {
			was = s.pods[e.pod.UID]
		}
		s.apply(e)
		g := s.standing(key)
		if g.whole() {
			c.whole = append(c.whole, e.at)
		}
		if e.node != nil {
			c.nodes = append(c.nodes, e.at)
		}
		if g.minMember != asked {
			asked = g.minMember
			c.changes = append(c.changes, e.at)
		}
		if e.pod != nil {
			member := keyOf(e.pod) == key
			if member {
				priority = priorityOf(e.pod)
			}
			c.add(e, was, member, priority)
		}
		c.short = len(g.usable()) < g.lacks()
	}
	return c
}

// add takes in what became of a pod, which is a member or not, of a gang of a priority.
func (c *course) add(e entry, was *corev1.Pod, member bool, priority int32) {
	switch {
	case member && (was == nil || e.gone || (was.DeletionTimestamp == nil) != (e.pod.DeletionTimestamp == nil)):
		c.changes = append(c.changes, e.at)
	case !member && priorityOf(e.pod) >= priority && e.pod.Spec.NodeName != "" && (was == nil || was.Spec.NodeName == ""):
		c.rivals = append(c.rivals, e.at)
	}
}

func priorityOf(pod *corev1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}

// within says that one of some times is in a span.
func within(times []time.Time, from, to time.Time) bool {
	return slices.ContainsFunc(times, func(t time.Time) bool { return !t.Before(from) && !t.After(to) })
}

// victims is the judgement on evictions for gangs.
type victims struct {
	findings []finding
	evicted  int // for gangs that had not started
	vain     int // of those, for gangs that did not start, which something explains
}

// judgeVictims holds evictions against what became of the gangs that they were for.
//
// A gang that pods were evicted for starts before the run ends, unless something explains it: its members, what is
// asked of it or the nodes have changed since, a pod of no lower priority was bound, too few members are there
// whom the scheduler does not refuse by itself, or processes and calls were disturbed at that time.
//
// For a gang that has not started after an eviction nobody is evicted again, unless its members, what is asked of
// it or the nodes have changed since, a pod of no lower priority was bound, each member that waits has been bound
// by the scheduler since, or a process was disturbed: a new one does not know of the eviction.
func judgeVictims(history []entry, calls []call, end time.Time, behind time.Duration, disturbed []time.Time) (v victims) {
	courses, first := map[groupKey]course{}, map[groupKey]eviction{}
	for _, e := range evictions(history) {
		c, known := courses[e.gang]
		if !known {
			c = courseOf(history, e.gang)
			courses[e.gang] = c
		}
		v.evicted++
		after, before := e.at.Add(-startSlack-behind), first[e.gang]
		explained := func(from, to time.Time) bool {
			return within(c.changes, from, to) || within(c.nodes, from, to) || within(c.rivals, from, to) || within(disturbed, from, to)
		}
		if !within(c.whole, e.at, end) {
			if v.vain++; !c.short && !explained(after, end) {
				v.findings = append(v.findings, faultcampaign.Found(
					evictedInVain, "pod %s goes for gang %s, which does not start, and nothing explains it", e.victim, e.gang.name,
				))
			}
		}
		switch {
		case before.victim == "" || within(c.whole, before.at, e.at):
			first[e.gang] = e
		case e.at.Sub(before.at) <= roundLimit+behind:
		case explained(before.at.Add(-startSlack-behind), e.at) || allCame(history, calls, e.gang, before.at, e.at):
			first[e.gang] = e
		default:
			v.findings = append(v.findings, faultcampaign.Found(
				evictedTwice, "pod %s goes for gang %s %s after pod %s, and it has not started in between",
				e.victim, e.gang.name, e.at.Sub(before.at).Round(time.Millisecond), before.victim,
			))
		}
	}
	return v
}

// allCame says that the scheduler had each member bound in a span that was not bound at its end.
func allCame(history []entry, calls []call, key groupKey, from, to time.Time) bool {
	s := newState()
	for _, e := range history {
		if !e.at.After(to) {
			s.apply(e)
		}
	}
	for _, pod := range s.standing(key).pending {
		if !slices.ContainsFunc(calls, func(c call) bool { return c.pod == pod.Name && !c.arrived.Before(from) && !c.arrived.After(to) }) {
			return false
		}
	}
	return true
}
