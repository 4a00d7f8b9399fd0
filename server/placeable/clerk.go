package placeable

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

const (
	// keepFor is how long room is kept for pods that do not come. It is as long as Kueue's own waitForPodsReady waits by default:
	// what has not come by then Kueue gives up as well.
	keepFor = 5 * time.Minute
	// retold is how long a message stays at least: the numbers in it change with every pod of the cluster.
	retold = 10 * time.Second
)

// standing is how far the room of a workload is taken: pods by set.
type standing struct {
	kept, came map[string]int
	gaveUp     bool // for others
}

// found is whether all places were found, and what to say of it.
type found struct {
	whole   bool
	message string
}

// room is the port by which places are found and kept.
type room interface {
	// stands returns how far the room of a workload is taken. What its bound pods need no more is not kept any longer.
	stands(w *workload) standing
	// keep finds places for more pods, by set, and keeps them: for all of them or none with whole, else for any that have one.
	keep(w *workload, more map[string]int, whole bool) found
	// let ends what is kept.
	let(uid types.UID)
	// generation changes with whatever may change what is found.
	generation() uint64
	// spent reports whether enough time has gone by in this look.
	spent() bool
}

// said is a statement about a workload.
type said struct {
	of      *workload
	state   state
	message string
}

// clerk decides what is said of workloads. It belongs to one goroutine.
type clerk struct {
	room   room
	kept   map[types.UID]*keeping
	vain   map[types.UID]uint64    // the generation in which too few places were found
	round  sets.Set[types.UID]     // workloads that had their turn, until all have had it
	worded map[types.UID]time.Time // when something was last said
}

// keeping is the room that a workload was promised.
type keeping struct {
	reserved time.Time // of the workload
	since    time.Time
	ended    bool // its pods have come, or time is up
	over     bool // time is up
}

func newClerk(r room) *clerk {
	return &clerk{
		room: r, kept: map[types.UID]*keeping{}, vain: map[types.UID]uint64{}, round: sets.New[types.UID](), worded: map[types.UID]time.Time{},
	}
}

// look says something about workloads, and answers checks of these names. It is told of all that quota is reserved for. Room that was
// promised comes first; then each workload that waits has its turn, though not in every look, as time is bounded.
func (c *clerk) look(now time.Time, all []*workload, checks sets.Set[string]) (says []said) {
	all = slices.SortedFunc(slices.Values(all), byTurn)
	c.forget(all, checks)
	var waiting []*workload
	for _, w := range all {
		switch is := w.state(checks); {
		case is == ready, is == pending && c.kept[w.uid] != nil:
			says = append(says, c.goOn(now, w)...)
		case is == pending:
			waiting = append(waiting, w)
		}
	}
	says = append(says, c.try(now, waiting)...)
	return slices.DeleteFunc(says, func(s said) bool { return !c.isNews(now, s, checks) })
}

// forget ends what is kept for workloads that are gone, or have lost their quota since.
func (c *clerk) forget(all []*workload, checks sets.Set[string]) {
	standing := map[types.UID]*workload{}
	for _, w := range all {
		if is := w.state(checks); is == ready || is == pending {
			standing[w.uid] = w
		}
	}
	for uid, k := range c.kept {
		if w := standing[uid]; w == nil || !w.reserved.Equal(k.reserved) {
			c.room.let(uid)
			delete(c.kept, uid)
		}
	}
	for uid := range c.worded {
		if standing[uid] == nil {
			delete(c.worded, uid)
		}
	}
	for uid := range c.vain {
		if standing[uid] == nil {
			delete(c.vain, uid)
		}
	}
}

// goOn goes on with what a workload was promised. It must not be worse off than without a check once it is admitted: nobody takes back
// what pods run on.
func (c *clerk) goOn(now time.Time, w *workload) []said {
	k := c.kept[w.uid]
	if k == nil { // another process has promised it
		k = &keeping{reserved: w.reserved, since: now}
		c.kept[w.uid] = k
	}
	if !k.ended {
		c.keep(now, w, k)
	}
	if k.over && !w.admitted {
		return []said{{w, retry, fmt.Sprintf("its pods have not come in %s: the room that was kept is given to others", keepFor)}}
	}
	return []said{{w, ready, promised(w)}}
}

func (c *clerk) keep(now time.Time, w *workload, k *keeping) {
	s := c.room.stands(w)
	lacking, out := map[string]int{}, 0
	for i := range w.sets {
		set := &w.sets[i]
		out += max(set.count-s.came[set.name], 0)
		if n := set.count - s.came[set.name] - s.kept[set.name]; n > 0 {
			lacking[set.name] = n
		}
	}
	switch {
	case w.come || out == 0:
		k.ended = true
	case s.gaveUp || !now.Before(k.since.Add(keepFor)):
		k.ended, k.over = true, true
	case len(lacking) > 0:
		if generation := c.room.generation(); c.vain[w.uid] != generation && !c.room.keep(w, lacking, false).whole {
			c.vain[w.uid] = c.room.generation()
		}
		return
	default:
		return
	}
	c.room.let(w.uid)
}

// try finds room for workloads that wait for it, in their order.
func (c *clerk) try(now time.Time, waiting []*workload) (says []said) {
	for _, w := range waiting {
		if c.round.Has(w.uid) || c.vain[w.uid] == c.room.generation() && c.vain[w.uid] != 0 {
			continue
		}
		if len(says) > 0 && c.room.spent() {
			return says // the others come first the next time
		}
		c.round.Insert(w.uid)
		says = append(says, c.answer(now, w))
	}
	c.round.Clear()
	return says
}

func (c *clerk) answer(now time.Time, w *workload) said {
	if pods := w.pods(); pods > mostPods {
		c.vain[w.uid] = c.room.generation()
		return said{w, pending, fmt.Sprintf("it has %d pods: room is looked for up to %d", pods, mostPods)}
	}
	all := map[string]int{}
	for i := range w.sets {
		if w.sets[i].count > 0 {
			all[w.sets[i].name] = w.sets[i].count
		}
	}
	f := found{whole: true}
	if len(all) > 0 {
		f = c.room.keep(w, all, true)
	}
	if !f.whole {
		c.vain[w.uid] = c.room.generation()
		return said{w, pending, f.message}
	}
	c.kept[w.uid] = &keeping{reserved: w.reserved, since: now}
	return said{w, ready, promised(w)}
}

func promised(w *workload) string {
	return fmt.Sprintf("there are places for all %d pods, which are kept until they come, for %s", w.pods(), keepFor)
}

// isNews reports whether something has to be written: another state at once, and another message not too often. What a workload was
// promised is said once.
func (c *clerk) isNews(now time.Time, s said, checks sets.Set[string]) bool {
	for name, is := range s.of.checks {
		if !checks.Has(name) || is.state == s.state && (s.state != pending || is.message == s.message) {
			continue
		}
		if last, known := c.worded[s.of.uid]; known && is.state == s.state && now.Before(last.Add(retold)) {
			continue
		}
		c.worded[s.of.uid] = now
		return true
	}
	return false
}
