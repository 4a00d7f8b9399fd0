package gangfaults

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/e2e/fit"
)

// aheadSlack is how old what muster knows may be when it lets a gang go: what it counts on was so at some time
// not longer ago.
const aheadSlack = time.Second

// meanwhile is for how long the members of a gang are being bound at most, when nothing keeps them.
const meanwhile = time.Second

// letGo is what came of judging how gangs were let go.
type letGo struct {
	findings    []finding
	reserved    int // members whose places were reserved, and those of as many as must start together
	uncontested int // members of gangs of which nobody could have taken the room
}

// judgeLetGo holds every gate that is lifted of a member of a gang that has not started against what kept the room
// of the gang: as many as must start together are bound, or nominated, or let go before; or else nobody who might be
// scheduled could leave too little room. Those are the ones that wait, and those of no higher priority that come just
// before or while the members are being bound. What others may take is room alone: a history in which pods are refused
// for other reasons must not be judged here. What muster knows may be older than aheadSlack by as much as it is kept
// from knowing, and who comes in that time is not held against it. What nothing was said about is judged as it stands
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
				v.findings = append(v.findings, finding{letGoUnkept, fmt.Sprintf("%s: %s", e.pod.Name, s.contest(key, late))})
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
// let go with an entry of a history. Those of higher priority are left out, from which no reservation keeps its room,
// and those that muster is kept from knowing.
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

// mayFollow says that members of a gang may go one by one: as many as must start together are bound, with those of
// the gangs that start with it.
func (s *state) mayFollow(key groupKey) bool {
	for _, key := range s.together(key) {
		if g := s.standing(key); !g.whole() && !g.satisfied() {
			return false
		}
	}
	return true
}

// isReserved says that a member has its place, and with it as many as must start together in each gang.
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

// isUncontested says that there are as many members as must start together, and room for them wherever all others
// go that may be scheduled, or come late. Members of gangs that start together are taken to be alike.
func (s *state) isUncontested(key groupKey, late []*corev1.Pod) bool {
	wanted, left, enough := s.weigh(key, late)
	return enough && left >= wanted
}

// contest is what isUncontested found, in words.
func (s *state) contest(key groupKey, late []*corev1.Pod) string {
	g := s.standing(key)
	wanted, left, _ := s.weigh(key, late)
	return fmt.Sprintf(
		"gang %s has %d of %d members bound, %d nominated or let go and %d pending; of %d places others, %d of which come late, may leave %d",
		key.name, g.got(), g.minMember, len(g.ready()), len(g.pending), wanted, len(late), left,
	)
}

// weigh is how many places a gang needs, with those that start with it, beside the places where members are nominated;
// how many the others may leave it; and whether it has members enough.
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

// others are the pods that have a place already, by a binding or by a nomination that counts for a priority, and those
// that are in no gang of some and may be scheduled anywhere.
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
