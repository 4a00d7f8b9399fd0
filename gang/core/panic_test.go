package core

import (
	"errors"
	"slices"
	"testing"
)

// To the core an effect is done once its event was applied: a gang that has given way has ended its calls.
func TestAPanicInASearchLosesNoEffect(t *testing.T) {
	m := &model{
		name: "a gang outranks another", pods: 4, groups: [mostPods]int{0, 0, 1, 1}, ranks: [mostPods]int32{0, 0, 1, 1},
		least: [mostGroups][]int64{{2}, {2}}, room: []int{2}, before: []step{{plan, 0}, {ask, 0}, {ask, 1}, {bind, 0}},
	}
	for k := range m.faults {
		m.faults[k] = -1
	}
	w := newWorld(m)
	w.sound = 2 // the second one is made once the first gang has given way
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no search has panicked")
			}
		}()
		w.state.Apply(w, w, Asked{w.object(2), len(w.room)})
	}()
	if !slices.ContainsFunc(w.state.Effects(), func(e Effect) bool {
		end, ends := e.(EndHold)
		return ends && errors.Is(end.Err, ErrOutranked)
	}) {
		t.Errorf("effects %v, want the end of the held call", w.state.Effects())
	}
}
