package core

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
)

// Check says what of the package's invariants does not hold between two events, nil when all of it
// does. It is for tests: it counts everything anew.
func (s *State) Check(view View) error {
	var wrong []error
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	holding, holds := map[string]int{}, map[HoldID]types.UID{}
	for _, g := range s.groups {
		var counted counts
		for uid, p := range g.members {
			counted[p.stage]++
			if s.groupOf[uid] != g {
				bad("%s is a member of %s, and of another group", uid, g.key)
			}
			if g.done.succeeded.Has(uid) || g.done.failed.Has(uid) {
				bad("%s is a member of %s, and has finished", uid, g.key)
			}
			if other, twice := holds[p.hold]; twice && p.hold != 0 {
				bad("%s and %s have one hold", uid, other)
			}
			holds[p.hold] = uid
		}
		if counted != g.counts {
			bad("%s: counted %v, are %v", g.key, g.counts, counted)
		}
		if len(g.members)+g.done.succeeded.Len()+g.done.failed.Len() == 0 {
			bad("%s has no pod", g.key)
		}
		if g.holds() {
			holding[g.key.Namespace]++
		}
		if g.recording != 0 && s.commits[g.recording] == nil {
			bad("%s waits for record %d, which nobody writes", g.key, g.recording)
		}
	}
	if fmt.Sprint(holding) != fmt.Sprint(s.holding) {
		bad("groups that hold places: counted %v, are %v", s.holding, holding)
	}
	for uid, g := range s.groupOf {
		p := g.members[uid]
		if p == nil || s.groups[g.key] != g {
			bad("%s is of %s, which does not have it", uid, g.key)
			continue
		}
		assumed := view.Assumed(uid)
		switch {
		case (p.stage == placed || p.stage == held) && assumed != p.place:
			bad("%s is %s on %q, and counts on %q", uid, p.stage, p.place, assumed)
		case p.stage == pending && assumed != "":
			bad("%s is pending, and counts on %q", uid, assumed)
		}
		if (p.stage == held) != (p.hold != 0) {
			bad("%s is %s, its hold: %d", uid, p.stage, p.hold)
		}
		if (p.stage == pending) != (p.place == "") {
			bad("%s is %s, its place: %q", uid, p.stage, p.place)
		}
	}
	return errors.Join(wrong...)
}
