package placeable

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"pgregory.net/rapid"

	"muster.dev/muster/api/seeded"
)

// slots are a room in which any pod takes one place.
type slots struct {
	free    int
	changes uint64
	looks   int // that a look has time for
	spends  int
	kept    map[types.UID]int // places that nobody has taken
	came    map[types.UID]int // pods that have come
}

func (s *slots) stands(w *workload) standing {
	return standing{kept: map[string]int{"main": s.kept[w.uid]}, came: map[string]int{"main": s.came[w.uid]}}
}

func (s *slots) keep(w *workload, more map[string]int, whole bool) found {
	s.spends++
	n := more["main"]
	if n > s.free {
		if whole {
			return found{message: fmt.Sprintf("places for %d of %d", s.free, n)}
		}
		n = s.free
	}
	s.free -= n
	s.kept[w.uid] += n
	s.changes++
	return found{whole: n == more["main"]}
}

func (s *slots) let(uid types.UID) {
	s.free += s.kept[uid]
	delete(s.kept, uid)
	s.changes++
}

func (s *slots) generation() uint64 { return s.changes }

func (s *slots) spent() bool { return s.spends >= s.looks }

// kueue has workloads that come, are admitted and end, as a property draws them.
type kueue struct {
	*slots
	clerk *clerk
	now   time.Time
	all   map[types.UID]*workload
	next  int
}

var named = sets.New("placeable")

func newKueue(room, looks int) *kueue {
	s := &slots{free: room, changes: 1, looks: looks, kept: map[types.UID]int{}, came: map[types.UID]int{}}
	return &kueue{slots: s, clerk: newClerk(s), now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), all: map[types.UID]*workload{}}
}

func (k *kueue) come(pods int, priority int32) *workload {
	k.next++
	w := &workload{
		NamespacedName: types.NamespacedName{Name: fmt.Sprint(k.next)}, uid: types.UID(fmt.Sprint(k.next)), priority: priority,
		reserved: k.now, sets: []podSet{{name: "main", count: pods}}, checks: map[string]check{"placeable": {state: pending}},
	}
	k.all[w.uid] = w
	return w
}

// look has the clerk look, and writes what it says unless that is lost.
func (k *kueue) look(lost func() bool) {
	k.now, k.spends = k.now.Add(time.Second), 0
	list := slices.SortedFunc(maps.Values(k.all), byTurn)
	for _, s := range k.clerk.look(k.now, list, named) {
		if !lost() {
			next := *s.of
			next.checks = map[string]check{"placeable": {s.state, s.message}}
			next.admitted = next.admitted || s.state == ready
			k.all[s.of.uid] = &next
		}
	}
}

// Whatever comes, is lost and ends, nobody is promised what is not there, and what was promised is there until its pods have come.
func TestNobodyIsPromisedWhatIsNotThere(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		room := rapid.IntRange(0, 12).Draw(t, "room")
		k := newKueue(room, rapid.IntRange(1, 3).Draw(t, "looks"))
		uids := func(is func(*workload) bool) (all []types.UID) {
			for uid, w := range k.all {
				if is(w) {
					all = append(all, uid)
				}
			}
			slices.Sort(all)
			return all
		}
		promisedTo := func(w *workload) bool { return w.checks["placeable"].state == ready }
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0:
				k.come(rapid.IntRange(0, 5).Draw(t, "pods"), int32(rapid.IntRange(0, 2).Draw(t, "priority")))
			case 1: // a pod comes to the room that is kept for it
				if all := uids(func(w *workload) bool { return promisedTo(w) && k.kept[w.uid] > 0 }); len(all) > 0 {
					uid := rapid.SampledFrom(all).Draw(t, "comes")
					k.kept[uid]--
					k.came[uid]++
					k.changes++
				}
			case 2: // a workload ends with its pods
				if all := uids(func(*workload) bool { return true }); len(all) > 0 {
					uid := rapid.SampledFrom(all).Draw(t, "ends")
					delete(k.all, uid)
					k.free += k.came[uid]
					delete(k.came, uid)
					k.changes++
				}
			case 3:
				k.now = k.now.Add(time.Duration(rapid.IntRange(0, 400).Draw(t, "seconds")) * time.Second)
			default:
				k.look(func() bool { return rapid.IntRange(0, 3).Draw(t, "lost") == 0 })
			}
			taken := k.free
			for _, n := range k.kept {
				taken += n
			}
			for _, n := range k.came {
				taken += n
			}
			if taken != room || k.free < 0 {
				t.Fatalf("%d of %d places are free, kept %v, taken %v", k.free, room, k.kept, k.came)
			}
			for uid, w := range k.all {
				if about := k.clerk.kept[uid]; promisedTo(w) && about != nil && !about.ended && k.kept[uid]+k.came[uid] < w.pods() {
					t.Fatalf("workload %s of %d pods was promised room: %d are kept, %d have come", uid, w.pods(), k.kept[uid], k.came[uid])
				}
			}
		}
		// When nothing is lost any more, whatever fits beside what is promised has been told so soon.
		for range 4 * len(k.all) {
			k.look(func() bool { return false })
		}
		for uid, w := range k.all {
			if w.checks["placeable"].state == pending && w.pods() <= k.free {
				t.Fatalf("workload %s of %d pods waits, and %d places are free", uid, w.pods(), k.free)
			}
			if k.kept[uid] > 0 && w.checks["placeable"].state != ready {
				t.Fatalf("room is kept for workload %s, which says %v", uid, w.checks)
			}
		}
	})
}

// A look has time for one workload, and the cluster changes all the time: each has its turn all the same.
func TestEachWorkloadHasItsTurn(t *testing.T) {
	k := newKueue(1, 1)
	for range 3 {
		k.come(9, 1)
	}
	small := k.come(1, 0)
	for range 4 {
		k.changes++
		k.look(func() bool { return false })
	}
	if got := k.all[small.uid].checks["placeable"].state; got != ready {
		t.Errorf("the last one says %s", got)
	}
}

// What found no place is not looked at again before something has changed.
func TestNothingIsLookedForAgainInAnUnchangedCluster(t *testing.T) {
	k := newKueue(1, 10)
	k.come(2, 0)
	k.look(func() bool { return false })
	k.look(func() bool { return false })
	if k.spends != 0 {
		t.Errorf("it was looked for %d times", k.spends)
	}
	k.free++
	k.changes++
	k.look(func() bool { return false })
	if k.spends != 1 {
		t.Errorf("after a change it was looked for %d times", k.spends)
	}
}
