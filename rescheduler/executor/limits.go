package executor

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/rescheduler/evictions"
)

// Limits bound disruptions, besides PodDisruptionBudgets. They count the evictions in the record, so that
// nothing is forgotten with a process or a plan.
type Limits struct {
	// ReplacementTimeout is how long a replacement may take to be bound and ready, from when
	// its pod must have ended.
	ReplacementTimeout time.Duration
	// Rate bounds all evictions.
	Rate Rate
	// Selected bound evictions of pods that a selector matches.
	Selected []Selected
	// WorkloadCoolDown and NodeCoolDown are how long no other plan evicts a pod of a controller,
	// or from a node, after an eviction.
	WorkloadCoolDown, NodeCoolDown time.Duration
	// Windows are when pods may be evicted; at any time without one.
	Windows []Window
}

// Rate allows a number of evictions in any period of that length. The zero Rate allows any number.
type Rate struct {
	Evictions int
	Per       time.Duration
}

// Window is a part of a day, on some days of the week, by the clocks of a time zone: on the days on
// which these are changed it is an hour longer or shorter if it spans the change, and begins and ends
// when the clocks say so.
type Window struct {
	// From and To are times of day by the clock, as times since midnight. When To is not after From, the window
	// ends on the next day.
	From, To time.Duration
	// Days are the days on which it begins; all when there is none.
	Days []time.Weekday
	Zone *time.Location
}

// contains reports whether a time is in the window.
func (w *Window) contains(t time.Time) bool {
	t = t.In(w.Zone)
	clock := func(day int, shows time.Duration) time.Time {
		return time.Date(t.Year(), t.Month(), t.Day()+day, 0, 0, int(shows/time.Second), 0, w.Zone)
	}
	length := 0 // days
	if w.To <= w.From {
		length = 1
	}
	for _, day := range []int{0, -1} {
		begins := (t.Weekday() + time.Weekday(7+day)) % 7
		if w.on(begins) && !t.Before(clock(day, w.From)) && t.Before(clock(day+length, w.To)) {
			return true
		}
	}
	return false
}

func (w *Window) on(day time.Weekday) bool {
	return len(w.Days) == 0 || slices.Contains(w.Days, day)
}

// remembered is how long evictions are known at least: limits may become stricter.
const remembered = time.Hour

// Remembers returns how long an eviction is to be known.
func (l *Limits) Remembers(e evictions.Eviction) time.Duration {
	longest := max(remembered, l.WorkloadCoolDown, l.NodeCoolDown, l.Rate.Per)
	for i := range l.Selected {
		longest = max(longest, l.Selected[i].Rate.Per)
	}
	if e.Differs {
		longest = max(longest, l.WorkloadCoolDown<<mostDoublings)
	}
	return longest
}

// forbids says why a step must wait, "" when it need not. A gang that has begun to move goes on when
// a window closes.
func (e *Executor) forbids(plan *v1alpha1.ReschedulingPlan, at int) string {
	now, l, step := e.Clock.Now(), &e.Limits, &plan.Spec.Steps[at]
	if !l.Open(now) && !partsGang(plan, at) {
		return "waits for a maintenance window"
	}
	if !e.Record.Ready() {
		return "waits: " + evictions.ErrUnread.Error()
	}
	isItself := func(eviction evictions.Eviction) bool { return eviction.Pod == step.Pod.UID } // it may have been asked for
	past := besides(e.Record.Evictions(), isItself)
	if l.RateLeft(past, now) == 0 {
		return fmt.Sprintf("waits: there were %d evictions in %s", l.Rate.Evictions, l.Rate.Per)
	}
	// One plan may take several pods of a workload or a node.
	cooling := l.Cooling(besides(e.Record.Evictions(), func(eviction evictions.Eviction) bool { return eviction.Plan == plan.UID }))
	switch {
	case cooling.Node(step.From, now):
		return fmt.Sprintf("waits: node %s cools down", step.From)
	case cooling.Controller(step.Controller.UID, now):
		return fmt.Sprintf("waits: %s %s/%s cools down", step.Controller.Kind, step.Pod.Namespace, step.Controller.Name)
	}
	return e.forbidden(plan, at, past, now)
}

// besides returns evictions without some.
func besides(all []evictions.Eviction, some func(evictions.Eviction) bool) []evictions.Eviction {
	return slices.DeleteFunc(slices.Clone(all), some)
}

const awaitsRoom = "waits until muster keeps its room"

// unreserved says what a plan waits for while the extender does not keep its room, as far as the extender has
// said.
func unreserved(plan *v1alpha1.ReschedulingPlan) string {
	if said := meta.FindStatusCondition(plan.Status.Conditions, v1alpha1.ConditionReserved); said != nil {
		return awaitsRoom + ": " + said.Message
	}
	return awaitsRoom
}

// Open reports whether pods may be evicted at that time.
func (l *Limits) Open(now time.Time) bool { return within(l.Windows, now) }

func within(windows []Window, now time.Time) bool {
	return len(windows) == 0 || slices.ContainsFunc(windows, func(w Window) bool { return w.contains(now) })
}

// AnyNumber is the rest of a rate without a bound.
const AnyNumber = -1

// RateLeft returns how many evictions the rate of all allows now, or [AnyNumber].
func (l *Limits) RateLeft(past []evictions.Eviction, now time.Time) int {
	return l.Rate.left(past, now, func(evictions.Eviction) bool { return true })
}

func (r *Rate) left(past []evictions.Eviction, now time.Time, counts func(evictions.Eviction) bool) int {
	if r.Evictions == 0 {
		return AnyNumber
	}
	left := r.Evictions
	for _, eviction := range past {
		if now.Sub(eviction.At) < r.Per && counts(eviction) {
			left--
		}
	}
	return max(0, left)
}

// mostDoublings bounds how long a controller cools down whose replacements differ from the pods that were evicted.
const mostDoublings = 6

// Cooling says what no plan touches for a time after evictions.
type Cooling struct {
	nodes       map[string]time.Time // until when
	controllers map[types.UID]time.Time
}

// Cooling returns the nodes and controllers that these evictions leave alone for a time. A controller cools
// down for twice as long for each eviction in vain, whose replacement was of another kind and did not fit the
// room. Another plan would fail for the same reason, until all pods are as the controller would make them.
func (l *Limits) Cooling(past []evictions.Eviction) *Cooling {
	c := &Cooling{map[string]time.Time{}, map[types.UID]time.Time{}}
	inVain := map[types.UID]int{}
	for i := range past {
		if past[i].Differs {
			inVain[past[i].Controller]++
		}
	}
	for i := range past {
		e := &past[i]
		c.nodes[e.Node] = later(c.nodes[e.Node], e.At.Add(l.NodeCoolDown))
		coolDown := l.WorkloadCoolDown << min(inVain[e.Controller], mostDoublings)
		c.controllers[e.Controller] = later(c.controllers[e.Controller], e.At.Add(coolDown))
	}
	return c
}

// Node reports whether a node cools down.
func (c *Cooling) Node(name string, now time.Time) bool { return now.Before(c.nodes[name]) }

// Controller reports whether the controller of that UID cools down.
func (c *Cooling) Controller(uid types.UID, now time.Time) bool {
	return now.Before(c.controllers[uid])
}

// Why returns the reason why no plan should move a pod on a node at present, "" when it may: a constant.
func (c *Cooling) Why(pod *cluster.Pod, node string, now time.Time) string {
	if c.Node(node, now) {
		return "its node cools down after an eviction"
	}
	if owner := metav1.GetControllerOfNoCopy(pod.Pod); owner != nil && c.Controller(owner.UID, now) {
		return "its controller cools down after an eviction"
	}
	return ""
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
