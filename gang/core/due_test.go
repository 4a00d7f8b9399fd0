package core

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestWhoIsLetGoAndHasYetToComeIsKeptCounted(t *testing.T) {
	m := &model{
		name: "one is due", pods: 2, least: [mostGroups][]int64{{2}, {2}}, room: []int{2}, hold: time.Second,
		before: []step{{plan, 0}, {ask, 0}, {ask, 1}, {bind, 0}, {wait, 0}, {bind, 1}, {recordOK, 0}},
	}
	for k := range m.faults {
		m.faults[k] = -1
	}
	w := newWorld(m)
	if g := w.state.groups[keyOf(0)]; g.counts[due] != 1 {
		t.Fatalf("members by stage: %v, want one that is due", g.counts)
	}
	w.log = []string{}
	for range 6 {
		w.take(step{wait, 0})
	}
	if want := fmt.Sprint("renew ", w.uid(0)); !slices.Contains(w.log, want) {
		t.Errorf("effects %v, want %s", w.log, want)
	}
}
