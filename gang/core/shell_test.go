package core

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/cluster"
)

// apply feeds an event to the core and carries out what follows, as the shell does.
func (w *world) apply(event Event) {
	w.state.Apply(w, w, event)
	for _, e := range slices.Clone(w.state.Effects()) {
		w.note(describe(e))
		w.carryOut(e, event)
	}
}

// note counts an effect, or what the core asked of its ports, and writes it down.
func (w *world) note(what ...any) {
	w.effects++
	if w.log != nil {
		w.log = append(w.log, fmt.Sprint(what...))
	}
}

// describe is an effect in words, without what is not data.
func describe(e Effect) string {
	switch e := e.(type) {
	case Evict:
		return fmt.Sprint("evict ", e.Pod.Name)
	case Write:
		return fmt.Sprint("write ", e.Pod.Name, e.Node)
	case WriteRecords:
		text := fmt.Sprint("record ", e.Commit, e.Until.Unix())
		for _, r := range e.Records {
			text += fmt.Sprint(r.Group.Name, r.Record)
		}
		return text
	case *Decided:
		return fmt.Sprintf("decided %+v", e.Decision)
	case Preempted:
		return fmt.Sprint("preempted ", e.Alone, e.Node, len(e.Victims))
	default:
		return fmt.Sprintf("%T %+v", e, e)
	}
}

func describeSearch(s Search) (text string) {
	for _, p := range s.Parts {
		text += fmt.Sprint(p.Key.Name, p.AtLeast)
		for _, pod := range p.Pods {
			text += pod.Name
		}
	}
	return text
}

func (w *world) carryOut(effect Effect, event Event) {
	switch e := effect.(type) {
	case BeginHold:
		i := w.index(event.(Binds).UID)
		if w.pod[i].hold == 0 {
			w.pod[i].hold, w.pod[i].heldAt, w.pod[i].came = e.Hold, w.now, w.pod[i].place+1
		}
	case EndHold:
		w.endHold(e)
	case RefuseBind:
		w.pod[w.index(event.(Binds).UID)].told = 0
	case WriteRecords:
		w.checkRecords(e)
		for i := range w.pods {
			if p := &w.pod[i]; p.phase == waits || p.runs() || w.counts(i) {
				p.begun = e.Commit
			}
		}
		w.commits = append(slices.Clip(w.commits), e)
	case LiftGate:
		w.pod[w.index(e.UID)].lifting = true
		w.checkLift(w.index(e.UID))
	case Nominate:
		w.pod[w.index(e.UID)].nominating = w.ahead
	case Wake:
		w.pod[w.index(e.UID)].waking = w.ahead
	case Write:
		if _, lift := event.(Lifting); lift {
			w.pod[w.index(e.Pod.UID)].goes = true
		} else if w.ahead {
			_, wake := event.(Waking)
			w.written(e, wake)
		}
	case Evict:
		w.evict(e.Pod)
	case Denied:
		if errors.Is(e.Err, ErrOutranked) && w.begun {
			w.bad("a gang gives way that has begun to start")
		}
	case *Decided:
		decision := e.Decision
		w.decided = &decision
	case Preempted:
		for _, victim := range e.Victims {
			w.evict(victim)
		}
	default:
	}
}

func (w *world) evict(pod *cluster.Pod) {
	if i := int(pod.UID[1] - '0'); pod.UID[0] == 's' && w.single[i] == 0 {
		w.single[i] = 1
	}
}

// Release implements [Ports], as all that follow with great letters.
func (w *world) Release(uid types.UID) {
	w.note("release ", uid)
	i := w.index(uid)
	switch {
	case i < 0:
		return
	case w.pod[i].runs():
		w.bad("%s is released, and bound", uid)
	case w.pod[i].letGo:
		w.bad("%s is released while it is being bound", uid)
	default:
		w.pod[i].came, w.pod[i].owed = 0, false
		if !w.pod[i].mayBind && w.pod[i].place >= 0 {
			w.pod[i].place = -1
			w.moment++
		}
	}
}

func (w *world) Renew(uid types.UID) bool {
	w.note("renew ", uid)
	return w.Assumed(uid) != ""
}

func (w *world) endHold(e EndHold) {
	for i := range w.pods {
		p := &w.pod[i]
		if p.hold != e.Hold {
			continue
		}
		p.hold = 0
		if e.Err == nil && p.phase == waits {
			p.letGo = true
			w.freed = append(w.freed, int8(i))
		}
		return
	}
	w.bad("hold %d is ended, and has ended already or never began", e.Hold)
}

// free is how many more pods a node takes.
func (w *world) free(node int8, without map[types.UID]bool) int {
	if w.gone[node] {
		return 0
	}
	free := w.room[node] - int(w.taken[node])
	for i, on := range w.singles {
		if on == int(node) && w.single[i] < 2 {
			free--
		}
	}
	for i := range w.pods {
		if p := &w.pod[i]; p.place == node && (p.phase == waits || p.runs()) && !without[w.uid(i)] {
			free--
		}
	}
	return free
}

// FindPlaces has each pod go to the first node with room.
func (w *world) FindPlaces(s Search, _ Also) Places {
	w.note("find places ", describeSearch(s))
	if w.flaky {
		w.flaky = false
		return Places{Outcome: Outdated}
	}
	if w.sound--; w.sound == 0 {
		panic("a plugin is broken")
	}
	places, _, ok := w.fit(s, nil, nil)
	if !ok {
		return Places{Why: "no room"}
	}
	w.assume(places)
	return Places{Outcome: Found, Planned: places, Nodes: len(w.room), Contested: w.ahead}
}

func (w *world) FindWithout(s Search, others []*cluster.Pod, on []string) (Nodes, bool) {
	w.note("find without ", describeSearch(s), len(others), on)
	without := map[types.UID]bool{}
	for _, pod := range others {
		without[pod.UID] = true
	}
	places, _, _ := w.fit(s, without, nil)
	nodes := Nodes{}
	for _, p := range places {
		nodes.Insert(p.Node)
	}
	return nodes, false
}

func (w *world) FindVictims(s Search, terms *Terms) Evictions {
	w.note("find victims ", describeSearch(s))
	places, victims, ok := w.fit(s, nil, terms)
	if !ok {
		return Evictions{}
	}
	w.assume(places)
	return Evictions{Outcome: Found, Planned: places, Nodes: len(w.room), Victims: victims}
}

func (w *world) assume(places []Planned) {
	for _, p := range places {
		w.pod[w.index(p.UID)].place = nodeIndex(p.Node)
	}
	w.moment++
}

func (w *world) fit(s Search, without map[types.UID]bool, terms *Terms) (places []Planned, victims map[string][]Victim, ok bool) {
	var free [mostNodes]int
	for node := range w.room {
		free[node] = w.free(int8(node), without)
	}
	victims = map[string][]Victim{}
	taken := map[types.UID]bool{}
	for _, part := range s.Parts {
		placed := 0
		for _, pod := range part.Pods {
			node := w.fitOne(&free, terms, victims, taken)
			if node < 0 {
				continue
			}
			placed++
			places = append(places, Planned{pod.UID, nodeName(node)})
		}
		if placed < part.AtLeast {
			return nil, nil, false
		}
	}
	return places, victims, true
}

func (w *world) fitOne(free *[mostNodes]int, terms *Terms, victims map[string][]Victim, taken map[types.UID]bool) int8 {
	for node := range w.room {
		if free[node] > 0 {
			free[node]--
			return int8(node)
		}
	}
	if terms == nil {
		return -1
	}
	for i, on := range w.singles {
		pod := w.singlePod(i)
		if _, may := terms.May(pod); may && w.single[i] < 2 && !taken[pod.UID] {
			taken[pod.UID] = true
			victims[nodeName(int8(on))] = append(victims[nodeName(int8(on))], Victim{Pod: pod})
			return int8(on)
		}
	}
	return -1
}
