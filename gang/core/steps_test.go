package core

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/finished"
	"muster.dev/muster/gang/record"
)

// steps returns all that may happen next.
func (w *world) steps() (all []step) {
	add := func(may bool, k kind, of int) {
		if may && w.left[k] != 0 {
			all = append(all, step{k, int8(of)})
		}
	}
	for i := range w.pods {
		p := &w.pod[i]
		shut := w.gated && !p.free
		asks := p.phase == waits && !p.letGo && p.hold == 0 && !shut && !w.ahead
		add(p.phase == absent && p.version == 0 && w.late[i], create, i)
		for _, k := range []kind{ask, askElse, askMissed, askFlaky, preempt} {
			add(asks && (k != preempt || len(w.singles) > 0), k, i)
		}
		add(asks && p.told > 0, bind, i)
		for _, k := range []kind{bindOK, bindSeen, bindFails, bindLost} {
			add(p.letGo, k, i)
		}
		add(p.mayBind && !p.letGo && p.hold == 0, lostBound, i)
		add(p.mayBind && !p.letGo && p.hold == 0, lostNot, i)
		add(p.hold != 0, hangUp, i)
		add(p.phase == waits || p.runs(), remove, i)
		add(p.phase == absent && p.version > 0, replace, i)
		add(p.phase == isBound, succeed, i)
		add(p.phase == isBound, terminate, i)
		add(p.phase == waits && p.place >= 0 && !p.letGo && !p.mayBind, expire, i)
		add(p.lifting, gateOK, i)
	}
	w.aheadSteps(add)
	for i := range w.commits {
		for _, k := range []kind{recordOK, recordLate, recordNot, fenced} {
			add(true, k, i)
		}
	}
	for group := range mostGroups {
		add(true, plan, group)
		add(w.gated, gatesDue, group)
		add(int(w.group[group].variant)+1 < len(w.least[group]), change, group)
		add(true, recreate, group)
	}
	for _, k := range []kind{tick, wait, waitLong} {
		add(true, k, 0)
	}
	add(!w.state.stopped, stop, 0)
	for node := range w.room {
		add(!w.gone[node], lose, node)
	}
	for i := range w.singles {
		add(w.single[i] == 1, vanish, i)
	}
	return all
}

// take has a step happen.
func (w *world) take(s step) {
	if w.left[s.kind] > 0 {
		w.left[s.kind]--
	}
	i := int(s.of)
	w.begun = w.hasBegun(0)
	switch s.kind {
	case create, replace:
		w.create(i)
	case ask, askElse, askMissed, askFlaky:
		w.ask(s.kind, i)
	case preempt:
		w.apply(Preempts{w.uid(i)})
	case bind:
		w.bind(i)
	case bindOK, bindSeen, bindFails, bindLost, lostBound, lostNot:
		w.finishBinding(s.kind, i)
	case hangUp:
		before := w.effects
		w.apply(HungUp{w.uid(i), w.pod[i].hold + 100, errModel})
		if w.effects != before {
			w.bad("a call that %s does not wait for is given up, and that has effects", w.uid(i))
		}
		w.apply(HungUp{w.uid(i), w.pod[i].hold, errModel})
		w.pod[i].came = 0 // it has to come there again
		if w.pod[i].place < 0 {
			w.bad("the call for %s is given up, and it has lost its place", w.uid(i))
		}
	case recordOK, recordLate, recordNot, fenced:
		w.record(s.kind, i)
	case remove, succeed:
		w.remove(s.kind, i)
	case terminate:
		w.pod[i].phase = isLeaving
		w.show(i)
		w.moment++
	default:
		if isAhead(s.kind) {
			w.takeAhead(s.kind, i)
		} else {
			w.takeOther(s.kind, i)
		}
	}
	w.check(s)
}

// hasBegun says whether the start of a group is being recorded, or pods of it are bound or let go.
func (w *world) hasBegun(group int) bool {
	g := w.state.groups[keyOf(group)]
	return g != nil && g.recording != 0 || w.count(group, func(p *modelPod) bool { return p.letGo || p.phase == isBound }) > 0
}

func (w *world) takeOther(k kind, i int) {
	switch k {
	case plan:
		w.apply(Looked{})
		w.apply(PlannedAhead{keyOf(i)})
	case change:
		w.group[i].variant++
		w.readGroup(i)
		w.moment++
	case recreate:
		w.recreate(i)
	case tick, wait, waitLong:
		w.now += map[kind]int16{tick: 0, wait: 1, waitLong: int16(modelTimeout / time.Second)}[k]
		w.apply(Ticked{})
	case stop:
		w.apply(Stopped{})
	case expire:
		w.pod[i].place, w.pod[i].came, w.pod[i].owed = -1, 0, false
		w.moment++
		w.state.renewed = time.Time{}
		w.apply(Ticked{}) // at the latest when it is to be renewed
	case lose:
		w.gone[i] = true
		w.moment++
	case vanish:
		w.single[i] = 2
		w.moment++
	case gatesDue:
		w.apply(GatesDue{keyOf(i)})
	case gateOK:
		w.pod[i].lifting, w.pod[i].goes = false, false
		if w.apply(Lifting{w.uid(i)}); !w.pod[i].goes {
			return
		}
		w.pod[i].free = true
		w.show(i)
		w.apply(GateLifted{UID: w.uid(i)})
	default:
	}
}

func (w *world) show(i int) {
	w.apply(Seen{cluster.PodState{UID: w.uid(i), Pod: w.object(i)}})
}

func (w *world) create(i int) {
	p := &w.pod[i]
	*p = modelPod{phase: waits, version: p.version + 1, created: w.now, place: -1}
	w.show(i)
}

func (w *world) ask(k kind, i int) {
	p := &w.pod[i]
	w.decided, w.flaky = nil, k == askFlaky
	w.apply(Asked{w.object(i), len(w.room)})
	w.flaky, p.told = false, 0
	switch d := w.decided; {
	case d == nil:
		w.bad("a filter call about %d is not answered", i)
	case d.Reason != "":
		if !d.Waits {
			w.leave(i)
		}
	case d.Member && (k == askElse || k == askMissed):
		w.apply(Refused{w.uid(i), k == askMissed})
	case d.Member:
		w.move(i, nodeIndex(d.Node))
		w.apply(Placed{w.uid(i), d.Node})
	default:
		w.moveAnywhere(i)
	}
}

// leave has a pod count nowhere, as it is refused.
func (w *world) leave(i int) {
	if p := &w.pod[i]; p.place >= 0 && !p.mayBind {
		p.place = -1
		w.moment++
	}
}

func (w *world) move(i int, node int8) {
	p := &w.pod[i]
	p.told = node + 1
	if p.place != node {
		p.place, p.came = node, 0
		w.moment++
	}
}

func (w *world) moveAnywhere(i int) {
	if w.pod[i].mayBind {
		w.pod[i].told = w.pod[i].place + 1
		return
	}
	w.leave(i)
	for node := range w.room {
		if w.free(int8(node), nil) > 0 {
			w.move(i, int8(node))
			return
		}
	}
}

// bind is a bind call: the pod counts on the node, or is put there.
func (w *world) bind(i int) {
	p := &w.pod[i]
	node := p.told - 1
	p.told = 0
	if p.place >= 0 && p.place != node || p.place < 0 && w.free(node, nil) <= 0 {
		return // it is refused before the gang is asked
	}
	if p.place < 0 {
		p.place = node
		w.moment++
	}
	before := len(w.wrong)
	open := w.state.lastHold
	planless := false
	if g := w.state.groupOf[w.uid(i)]; g != nil && !p.mayBind && g.spec != nil && g.spec.From == w.group[w.groups[i]].object.Unstructured {
		planless = g.members[w.uid(i)].stage == pending && !w.state.hasStarted(g)
	}
	p.told = 1
	w.apply(Binds{w.uid(i), nodeName(node)})
	refused := p.told == 0
	p.told = 0
	if p.mayBind && refused {
		w.bad("%s may be bound any moment, and is refused", w.uid(i))
	}
	if planless && !refused {
		w.bad("%s is held, and its gang has no plan", w.uid(i))
	}
	if member := w.state.member(w.uid(i)); refused && member != nil && member.stage == pending && p.place >= 0 && !p.mayBind {
		w.bad("%s is refused, and counts where the call put it", w.uid(i))
	}
	if w.state.lastHold == open && !refused && p.hold == 0 && len(w.wrong) == before { // nothing to wait for
		p.letGo = true
		if !p.owed {
			w.freed = append(w.freed, int8(i))
		}
		p.owed = false
	}
}

func (w *world) finishBinding(k kind, i int) {
	p := &w.pod[i]
	p.letGo = false
	switch k {
	case bindOK:
		w.apply(Bound{UID: w.uid(i)})
		w.bound(i)
	case bindSeen:
		w.bound(i)
		w.apply(Bound{w.uid(i), errModel}) // the answer is lost, and the watch has shown it already
	case lostBound:
		w.bound(i)
	case bindFails:
		if p.left = true; !p.mayBind {
			p.place = -1
		}
		w.moment++
		w.apply(Bound{w.uid(i), errModel})
	case bindLost:
		p.mayBind, p.left = true, true
		w.apply(Bound{w.uid(i), errModel})
	case lostNot: // nobody sees it; what counts on the place goes on to count there
		p.mayBind = false
		if g := w.state.member(w.uid(i)); g.stage == pending {
			p.place = -1
		}
		w.moment++
	default:
	}
}

func (w *world) bound(i int) {
	p := &w.pod[i]
	p.phase, p.mayBind, p.left, p.owed = isBound, false, false, false // also by a binding that was not answered
	w.show(i)
	w.moment++
}

func (w *world) record(k kind, i int) {
	c := w.commits[i]
	w.commits = slices.Delete(slices.Clone(w.commits), i, i+1)
	var err error
	switch k {
	case recordOK:
		for _, r := range c.Records {
			group := int(r.Group.Name[0] - 'a')
			written := r.Record
			if written.PodGroup != types.UID(fmt.Sprint(groupNames[group], w.group[group].life)) {
				err = record.ErrChanged
				continue
			}
			w.group[group].record, w.group[group].frozen = &written, r.Record.MinMember
			for i := range w.pods {
				if p := &w.pod[i]; w.groups[i] == group && p.begun == c.Commit {
					p.lived = w.group[group].life
				}
			}
			w.readGroup(group)
		}
	case recordLate:
		err = errModel
	case recordNot:
		err = record.ErrChanged
	default:
		err = record.ErrFenced
	}
	w.moment++
	denied := !slices.ContainsFunc(w.state.commits[c.Commit].parts, func(p part) bool {
		return p.recording == c.Commit || w.state.groups[p.key] != p.group
	})
	whole := !slices.ContainsFunc(w.state.commits[c.Commit].parts, func(p part) bool {
		return p.recording != c.Commit || w.state.groups[p.key] != p.group
	})
	before := w.effects
	w.apply(Recorded{c.Commit, err})
	for group := range w.group {
		if g := w.state.groups[keyOf(group)]; g != nil && whole && w.bundle && (k == fenced || k == recordLate) && g.holds() {
			w.bad("a start may not be recorded, and %s keeps its places", g.key)
		}
	}
	if denied && w.effects != before {
		w.bad("what came of recording a start that was denied has effects")
	}
}

// recreate has the watch show a PodGroup of the same name and another life.
func (w *world) recreate(group int) {
	g := &w.group[group]
	g.life, g.born, g.record, g.frozen = g.life+1, w.now, nil, 0
	w.readGroup(group)
	w.moment++
}

func (w *world) remove(k kind, i int) {
	p := &w.pod[i]
	uid := w.uid(i)
	p.place, p.phase, p.letGo, p.mayBind, p.told, p.lifting, p.came, p.owed = -1, absent, false, false, 0, false, 0, false
	p.aheadPod = aheadPod{}
	w.moment++
	if k == succeed {
		p.phase = hasSucceeded
		w.apply(Finished{finished.Pod{
			UID: uid, Label: v1alpha1.LabelX, Group: keyOf(w.groups[i]).NamespacedName, Created: at(p.created), Phase: corev1.PodSucceeded,
		}})
	}
	w.apply(Seen{cluster.PodState{UID: uid}})
	if p.hold != 0 {
		w.bad("the call for %s is held, and the pod is gone", uid)
	}
}
