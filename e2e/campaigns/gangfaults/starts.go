package gangfaults

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/e2e/campaigns/faultcampaign"
	"muster.dev/muster/e2e/fit"
)

// startSlack is how old what muster knows may be: for so long a member counts after it has
// been lost, and a minMember after it was raised, or before it is lowered.
const startSlack = 2 * time.Second

// judgeStarts judges every time until the end of the run that muster had a member bound: the members held
// then, or let go before, must be enough to start. A pod that is gone by then cannot be bound any more,
// and starts nothing. One that was let go rightly before may be again, whatever is asked for by then, as
// long as members are bound: its binding had no answer, and a start that has begun is completed. The same
// holds of each group that starts together with it. What muster knows may be older than startSlack by the
// time that muster is kept from knowing.
func judgeStarts(history []entry, calls []call, end time.Time, behind time.Duration) (findings []finding) {
	told, gone, begun := newChronicle(history, startSlack+behind), departures(history), sets.New[string]()
	calls = slices.SortedFunc(slices.Values(calls), func(a, b call) int { return a.let.Compare(b.let) })
	for _, c := range calls {
		if c.let.IsZero() || c.let.After(end) {
			continue
		}
		if begun.Has(c.pod) && told.assigned(c.gang, c.let).Len() > 0 {
			continue
		}
		if at, is := gone[c.pod]; is && at.Before(c.let) {
			continue
		}
		before := len(findings)
		for _, gang := range told.together(c.gang, c.let) {
			least, assigned := told.least(gang, c.let), told.assigned(gang, c.let)
			if gang != c.gang && assigned.Intersection(begun).Len() > 0 {
				continue // it has begun as well
			}
			ready := assigned.Union(told.held(calls, gang, c.let))
			if least != math.MaxInt && ready.Len() < least { // else nobody could know
				findings = append(
					findings,
					faultcampaign.Found(
						startedBelow, "pod %s is let go when %d members of %s are held or bound, of %d that must start together",
						c.pod, ready.Len(), gang, least,
					),
				)
			}
		}
		findings = append(findings, told.judgeTree(calls, c.gang, c.pod, c.let)...)
		if len(findings) == before {
			begun.Insert(c.pod)
		}
	}
	return findings
}

// chronicle tells the state of gangs at each time, by name.
type chronicle struct {
	slack time.Duration // that may have passed until muster knows
	of    map[string][]chapter
}

// chapter is the state of a gang from a time on.
type chapter struct {
	from time.Time
	// least is how many must start together, 0 when nothing says it, and 1 when they may start one by one.
	least     int
	with      []string // that start together with it
	tree      string   // that it is in, and how many gangs of that start together
	treeLeast int
	assigned  []string // pods that are bound, or have succeeded in the present life of the PodGroup
}

func newChronicle(history []entry, slack time.Duration) chronicle {
	c, s := chronicle{slack, map[string][]chapter{}}, newState()
	for _, e := range history {
		for _, key := range s.apply(e) {
			g := s.standing(key)
			now := chapter{from: e.at, least: g.minMember, with: g.with, tree: g.tree, treeLeast: s.trees[g.tree].atLeast}
			if g.satisfied() {
				now.least = min(now.least, 1)
			}
			for _, pod := range s.pods {
				if keyOf(pod) == key && pod.Spec.NodeName != "" && !s.isFormer(pod, s.groups[key]) {
					now.assigned = append(now.assigned, pod.Name)
				}
			}
			c.of[key.name] = append(c.of[key.name], now)
		}
	}
	return c
}

// together returns a gang and its partners in starting, as the gang said last before a time.
func (c chronicle) together(gang string, at time.Time) []string {
	together := []string{gang}
	for chapter := range c.between(gang, at, at) {
		together = append([]string{gang}, slices.DeleteFunc(slices.Clone(chapter.with), func(name string) bool { return name == gang })...)
	}
	return together
}

// held are the members of a gang whose bind calls waited at a time, or not long before.
func (c chronicle) held(calls []call, gang string, at time.Time) sets.Set[string] {
	held := sets.New[string]()
	for _, other := range calls {
		if other.gang == gang && !other.arrived.After(at) && (other.ended.IsZero() || other.ended.After(at.Add(-c.slack))) {
			held.Insert(other.pod)
		}
	}
	return held
}

// departures are when pods were gone, by name.
func departures(history []entry) map[string]time.Time {
	gone := map[string]time.Time{}
	for _, e := range history {
		if e.pod != nil && e.gone {
			gone[e.pod.Name] = e.at
		}
	}
	return gone
}

// least is the lowest minMember of a gang about a time.
func (c chronicle) least(gang string, at time.Time) int {
	least := math.MaxInt
	for chapter := range c.between(gang, at.Add(-c.slack), at.Add(startSlack)) {
		if chapter.least > 0 {
			least = min(least, chapter.least)
		}
	}
	return least
}

// assigned are the members of a gang that were bound before a time, and not lost long before.
func (c chronicle) assigned(gang string, at time.Time) sets.Set[string] {
	pods := sets.New[string]()
	for chapter := range c.between(gang, at.Add(-c.slack), at) {
		pods.Insert(chapter.assigned...)
	}
	return pods
}

// between are the chapters of a gang that have to do with a span of time.
func (c chronicle) between(gang string, from, to time.Time) func(yield func(chapter) bool) {
	return func(yield func(chapter) bool) {
		chapters := c.of[gang]
		first, _ := slices.BinarySearchFunc(chapters, from, func(c chapter, t time.Time) int { return c.from.Compare(t) })
		for _, chapter := range chapters[max(0, first-1):] {
			if chapter.from.After(to) || !yield(chapter) {
				return
			}
		}
	}
}

// aheadSlack is how old what muster knows may be when it lets a gang go: what it counts on was so at some time
// not longer ago.
const aheadSlack = time.Second

// meanwhile is for how long the members of a gang are being bound at most, when nothing keeps them.
const meanwhile = time.Second

// letGo is the judgement on how gangs were let go.
type letGo struct {
	findings    []finding
	reserved    int // members whose places were reserved, together with enough others to start
	uncontested int // members of gangs whose room nobody could have taken
}

// judgeLetGo judges every gate that is lifted of a member of a gang that has not started, by what kept the room of the
// gang: enough members to start are bound, or nominated, or let go before; or else nobody who might be scheduled could
// leave too little room. Such pods are the ones that wait, and pods of no higher priority that come just before or
// while the members are being bound. What others may take is room alone: a history in which pods are refused for other
// reasons must not be judged here. What muster knows may be older than aheadSlack by the time that muster is kept from
// knowing, and pods that come in that time are not held against it. What nothing was said about is judged as it stands
// now only: a moment ago each gang was unheard of.
func judgeLetGo(history []entry, behind time.Duration) (v letGo) {
	s := newState()
	for i, e := range history {
		if e.pod != nil && !e.gone && isLetGo(s.pods[e.pod.UID], e.pod) {
			key, since := keyOf(e.pod), e.at.Add(-aheadSlack-behind)
			once := func(so func(*state) bool) bool {
				return so(s) || everSince(history[:i], since, func(s *state) bool { return s.isHeard(key) && so(s) })
			}
			late := newcomers(history, i, since, behind)
			switch {
			case s.standing(key).minMember == 0 || once(func(s *state) bool { return s.mayFollow(key) }):
			case once(func(s *state) bool { return s.isReserved(e.pod, key) }):
				v.reserved++
			case once(func(s *state) bool { return s.isUncontested(key, late) }):
				v.uncontested++
			default:
				v.findings = append(v.findings, faultcampaign.Found(letGoUnkept, "%s: %s", e.pod.Name, s.contest(key, late)))
			}
		}
		s.apply(e)
	}
	return v
}

// isLetGo says that the last gate of a member was lifted, while it was neither going nor over.
func isLetGo(was, is *corev1.Pod) bool {
	return was != nil && keyOf(is).name != "" && len(was.Spec.SchedulingGates) > 0 && len(is.Spec.SchedulingGates) == 0 &&
		is.DeletionTimestamp == nil && is.Status.Phase == corev1.PodPending
}

// everSince says that something was so in one of the states of a history since a time.
func everSince(history []entry, since time.Time, so func(*state) bool) bool {
	s := newState()
	for i, e := range history {
		s.apply(e)
		lasts := i+1 == len(history) || !history[i+1].at.Before(since)
		if lasts && so(s) {
			return true
		}
	}
	return false
}

// newcomers are the pods without gates that come between a time and the end of the binding of a gang, whose member is
// let go with an entry of a history. Left out are pods of higher priority, since no reservation keeps its room from
// them, and pods that muster is kept from knowing.
func newcomers(history []entry, at int, since time.Time, behind time.Duration) (late []*corev1.Pod) {
	s, key, priority := newState(), keyOf(history[at].pod), priorityOf(history[at].pod)
	for i, e := range history {
		unknown := behind > 0 && e.at.After(history[at].at.Add(-behind))
		if unknown || i > at && (e.at.Sub(history[at].at) > meanwhile || s.standing(key).whole()) {
			break
		}
		isNew := e.pod != nil && s.pods[e.pod.UID] == nil && !e.at.Before(since)
		if isNew && len(e.pod.Spec.SchedulingGates) == 0 && priorityOf(e.pod) <= priority && keyOf(e.pod) != key &&
			e.pod.DeletionTimestamp == nil {
			late = append(late, e.pod)
		}
		s.apply(e)
	}
	return late
}

// together are the gangs that start with one, itself first.
func (s *state) together(key groupKey) []groupKey {
	keys := []groupKey{key}
	for _, name := range s.standing(key).with {
		if name != key.name {
			keys = append(keys, groupKey{key.label, name})
		}
	}
	return keys
}

// isHeard says that of a gang, and of each that starts with it, it is known how many must start together.
func (s *state) isHeard(key groupKey) bool {
	return !slices.ContainsFunc(s.together(key), func(key groupKey) bool { return s.standing(key).minMember == 0 })
}

// mayFollow says that members of a gang may go one by one: enough members to start are bound, also in the gangs
// that start with it.
func (s *state) mayFollow(key groupKey) bool {
	for _, key := range s.together(key) {
		if g := s.standing(key); !g.whole() && !g.satisfied() {
			return false
		}
	}
	return true
}

// isReserved says that a member has its place, together with enough members to start in each gang.
func (s *state) isReserved(member *corev1.Pod, key groupKey) bool {
	if pod := s.pods[member.UID]; pod == nil || pod.Status.NominatedNodeName == "" {
		return false
	}
	for _, key := range s.together(key) {
		if g := s.standing(key); len(g.ready()) < g.minMember-g.got() {
			return false
		}
	}
	return true
}

// ready are the members that are nominated, or were let go before.
func (g standing) ready() []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(g.pending), func(p *corev1.Pod) bool {
		return p.Status.NominatedNodeName == "" && len(p.Spec.SchedulingGates) > 0
	})
}

// isUncontested says that there are enough members to start, and room for them wherever all others go that may be
// scheduled, or come late. Members of gangs that start together are taken to be alike.
func (s *state) isUncontested(key groupKey, late []*corev1.Pod) bool {
	wanted, left, enough := s.weigh(key, late)
	return enough && left >= wanted
}

// contest returns the finding of isUncontested, in words.
func (s *state) contest(key groupKey, late []*corev1.Pod) string {
	g := s.standing(key)
	wanted, left, _ := s.weigh(key, late)
	return fmt.Sprintf(
		"gang %s has %d of %d members bound, %d nominated or let go and %d pending; of %d places others, %d of them late, may leave %d",
		key.name, g.got(), g.minMember, len(g.ready()), len(g.pending), wanted, len(late), left,
	)
}

// weigh returns the number of places that a gang needs, with its partners in starting, beside the places where members
// are nominated; the number that others may leave it; and whether it has members enough.
func (s *state) weigh(key groupKey, late []*corev1.Pod) (wanted, left int, enough bool) {
	own, enough := map[groupKey]bool{}, true
	var like *corev1.Pod
	for _, key := range s.together(key) {
		g := s.standing(key)
		own[key], enough = true, enough && len(g.pending) >= g.minMember-g.got()
		free, placed := 0, 0 // of the members
		for _, p := range g.pending {
			if like = p; p.Status.NominatedNodeName != "" {
				placed++
			} else if len(p.Spec.SchedulingGates) == 0 {
				free++
			}
		}
		wanted += max(free, g.minMember-g.got()-placed)
	}
	if like == nil {
		return wanted, 0, false
	}
	kept, rivals := s.others(own, priorityOf(like))
	for _, p := range late {
		if s.pods[p.UID] == nil {
			rivals = append(rivals, p)
		}
	}
	var nodes []*corev1.Node
	for _, name := range slices.Sorted(maps.Keys(s.nodes)) {
		nodes = append(nodes, s.nodes[name])
	}
	return wanted, fit.Left(nodes, kept, rivals, like), enough
}

// others returns the pods that have a place already, by a binding or by a nomination that counts for a priority, and pods
// outside some gangs that may be scheduled anywhere.
func (s *state) others(own map[groupKey]bool, priority int32) (kept, rivals []*corev1.Pod) {
	for _, uid := range slices.Sorted(maps.Keys(s.pods)) {
		switch p := s.pods[uid]; {
		case p.Spec.NodeName != "":
			kept = append(kept, p)
		case p.DeletionTimestamp != nil || p.Status.Phase != corev1.PodPending && p.Status.Phase != "":
		case p.Status.NominatedNodeName != "" && priorityOf(p) >= priority:
			there := p.DeepCopy()
			there.Spec.NodeName = p.Status.NominatedNodeName
			kept = append(kept, there)
		case len(p.Spec.SchedulingGates) == 0 && !own[keyOf(p)] && !unbindable(p):
			rivals = append(rivals, p)
		}
	}
	return kept, rivals
}
