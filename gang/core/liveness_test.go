package core

import (
	"slices"
	"time"
)

// settle has a scheduler and an API server at work that do nothing wrong, until nothing is left to do.
func (w *world) settle() {
	for k := range w.left {
		w.left[k] = -1
	}
	const rounds = 60
	for range rounds {
		for _, s := range w.steps() {
			switch s.kind {
			case preempt:
				if w.preempt == 0 && w.may(s) && len(w.wrong) == 0 { // else muster is to look by itself
					w.take(s)
				}
			case plan, ask, bind, bindOK, lostNot, recordOK, gatesDue, gateOK, vanish, nominate, touch, schedule, refuse, confirm:
				if w.may(s) && len(w.wrong) == 0 {
					w.take(s)
				}
			default:
			}
		}
		for i := range w.pods {
			for _, k := range []kind{ask, bind, bindOK} {
				if s := (step{k, int8(i)}); w.may(s) && len(w.wrong) == 0 {
					w.take(s)
				}
			}
		}
		w.take(step{wait, 0})
	}
}

// may reports whether a step may be taken still.
func (w *world) may(s step) bool { return slices.Contains(w.steps(), s) }

// checkSettled says whether a gang waits though it has all that it needs.
func (w *world) checkSettled() {
	room := 0
	for node := range w.room {
		room += max(w.free(int8(node), nil), 0)
	}
	for i, on := range w.singles {
		if w.preempt > 0 && w.single[i] < 2 && !w.gone[on] {
			room++ // by eviction
		}
	}
	for group := range w.group {
		mg := &w.group[group]
		waiting, asked := w.count(group, func(p *modelPod) bool { return p.phase == waits }), int(w.least[group][mg.variant])
		missing := asked - w.wereBound(group)
		rests := false
		if g := w.state.groups[keyOf(group)]; g != nil {
			rests = g.tries.next.After(at(w.now).Add(-5 * time.Second))
		}
		if missing > 0 && waiting >= missing && room >= missing && !rests {
			w.bad("%s waits for %d more: %d exist, and there is room for %d", groupNames[group], missing, waiting, room)
		}
	}
}

// livelyFrom takes a state on until nothing is left to do, and says what is wrong then.
func (w *world) livelyFrom() []error {
	if w.state.stopped || w.policy != "" || w.bundle {
		return nil // it ends, or others have a say
	}
	c := w.clone()
	c.settle()
	c.checkSettled()
	return c.wrong
}
