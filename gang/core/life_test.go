package core

import "testing"

func TestAPodThatRunsOnWhenItsPodGroupIsCreatedAnewCountsOnceAStartIsRecorded(t *testing.T) {
	for _, test := range []struct {
		name  string
		steps []step
	}{
		{"it succeeds while the start is recorded", []step{{succeed, 1}, {recordOK, 0}}},
		{"it succeeds before the others are bound", []step{{recordOK, 0}, {succeed, 1}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := &model{
				name: "a PodGroup is created again", pods: 3, late: [mostPods]bool{2: true}, least: [mostGroups][]int64{{2}, {2}}, room: []int{2},
				before: []step{
					{plan, 0},
					{ask, 0},
					{ask, 1},
					{bind, 0},
					{bind, 1},
					{recordOK, 0},
					{bindOK, 0},
					{bindOK, 1},
					{wait, 0},
					{succeed, 0},
					{recreate, 0},
					{create, 2},
					{ask, 2},
					{bind, 2},
				},
			}
			for k := range m.faults {
				m.faults[k] = -1
			}
			w := newWorld(m)
			for _, s := range test.steps {
				w.take(s)
			}
			if got := w.state.groups[keyOf(0)].done.succeeded; got != 1 {
				t.Errorf("%d pods count that have succeeded, want the one that ran on", got)
			}
			if wrong := append(w.wrong, w.livelyFrom()...); len(wrong) > 0 {
				t.Errorf("in the end: %v", wrong)
			}
			w.take(step{recreate, 0})
			w.take(step{plan, 0})
			if got := w.state.groups[keyOf(0)].done.succeeded; got != 0 {
				t.Errorf("%d pods count for the next PodGroup, want none", got)
			}
		})
	}
}
