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
	effects := append([]Effect(nil), w.state.Apply(at(w.now), w, event)...)
	var answers []Event
	w.effects += len(effects)
	for _, e := range effects {
		if w.log != nil {
			w.log = append(w.log, describe(e))
		}
		if answer := w.carryOut(e, event); answer != nil {
			answers = append(answers, answer)
		}
	}
	for _, answer := range answers {
		w.apply(answer)
	}
}

// describe is an effect in words, without what is not data.
func describe(e Effect) string {
	switch e := e.(type) {
	case FindPlaces:
		return fmt.Sprint("find places ", describeSearch(e.Search))
	case FindWithout:
		return fmt.Sprint("find without ", describeSearch(e.Search), len(e.Without), e.On)
	case FindVictims:
		return fmt.Sprint("find victims ", describeSearch(e.Search))
	case FindLost:
		return fmt.Sprint("find lost ", len(e.Pods), describeSearch(Search{Parts: []Wanted{{Pods: e.Pods}}}))
	case Proceed:
		return "proceed"
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
		return fmt.Sprint("preempted ", e.Starting, e.Node, len(e.Victims))
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

func (w *world) carryOut(effect Effect, event Event) Event {
	switch e := effect.(type) {
	case Release:
		w.release(e.UID)
	case Renew:
		if w.Assumed(e.UID) == "" {
			return Uncounted(e)
		}
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
	case FindLost:
		return w.lost(e)
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
	case Proceed:
		return Proceeding(e)
	default:
		return w.search(effect)
	}
	return nil
}

func (w *world) evict(pod *cluster.Pod) {
	if i := int(pod.UID[1] - '0'); pod.UID[0] == 's' && w.single[i] == 0 {
		w.single[i] = 1
	}
}

func (w *world) release(uid types.UID) {
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

// search answers what the core asks for: each pod goes to the first node with room.
func (w *world) search(effect Effect) Event {
	switch e := effect.(type) {
	case FindPlaces:
		if w.flaky {
			w.flaky = false
			return NodesChanged{e.Attempt, true}
		}
		places, _, ok := w.fit(e.Search, nil, nil)
		if !ok {
			return NoPlaces{Attempt: e.Attempt, Why: "no room"}
		}
		w.assume(places)
		return PlacesFound{Attempt: e.Attempt, Places: places, Nodes: len(w.room), Contested: w.ahead}
	case FindWithout:
		without := map[types.UID]bool{}
		for _, pod := range e.Without {
			without[pod.UID] = true
		}
		places, _, _ := w.fit(e.Search, without, nil)
		nodes := Nodes{}
		for _, p := range places {
			nodes.Insert(p.Node)
		}
		return FoundWithout{e.Attempt, nodes}
	case FindVictims:
		places, victims, ok := w.fit(e.Search, nil, e.Terms)
		if !ok {
			return NoVictims{Attempt: e.Attempt}
		}
		w.assume(places)
		return VictimsFound{e.Attempt, places, len(w.room), victims}
	default:
		return nil
	}
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
