package core

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/gang/membership"
)

type keyType = membership.Key

// code writes a state of a model down, so that states that differ in nothing that matters are one: times
// count from now on, and what is only told to people is left out.
type code struct {
	*world
	text []byte
}

func (c *code) put(values ...int) {
	for _, v := range values {
		c.text = binary.AppendVarint(c.text, int64(v))
	}
}

func (c *code) flag(values ...bool) {
	for _, v := range values {
		if v {
			c.text = append(c.text, 1)
		} else {
			c.text = append(c.text, 0)
		}
	}
}

func (c *code) time(t time.Time) {
	if t.IsZero() {
		c.text = append(c.text, 0xff)
		return
	}
	c.put(int(t.Sub(at(c.now)) / time.Millisecond))
}

// seenAt is the age of a generation: that of now, an older one, or none.
func (c *code) seenAt(generation uint64) { c.flag(generation == 0, generation == c.moment) }

func (c *code) group(g *group) {
	c.put(len(g.members), g.done.succeeded, g.done.failed, len(g.done.pods), int(g.priority))
	for i := range c.pods {
		uid := c.uid(i)
		c.flag(g.done.has(uid), g.unsure.Has(uid))
		p := g.members[uid]
		if p == nil {
			of := g.done.pods[uid].startOf
			c.flag(of != "", of == g.of)
			continue
		}
		c.put(i, int(p.stage), int(nodeIndex(p.place)), int(p.gate))
		c.flag(p.hold != 0, p.went, p.refused, p.astray, p.behind, p.pod.Spec.NodeName != "", p.forgotten == p.pod.ResourceVersion, p.posted,
			p.inherited)
		if p.stage == reserved {
			c.time(p.since)
		}
		if p.stage == placed && c.ahead {
			c.time(p.toldAt)
		}
		if p.stage == pending && p.behind {
			c.time(p.since) // which is its turn
		}
		c.time(p.until)
		c.time(p.restsUntil)
		c.put(int(p.nextRest / time.Millisecond))
		c.flag(p.startOf != "", p.startOf == g.of)
	}
	c.time(g.short)
	c.flag(g.spec != nil, g.store != nil, g.satisfied, g.recording != 0)
	if g.spec != nil {
		c.put(g.spec.MinMember)
		if g.spec.Record != nil {
			c.put(g.spec.Record.Members, g.spec.Record.MinMember)
			c.time(g.spec.Record.Time)
		}
	}
	if g.record != nil {
		c.put(g.record.Members, g.record.MinMember)
		c.time(g.record.Time)
	}
	c.put(g.tries.inVain, int(g.tries.rest))
	c.flag(g.tries.spoke, g.tries.silent, g.tries.evicted)
	c.put(g.tries.unbound.Len())
	for _, t := range []time.Time{
		g.created, g.failed, g.denied, g.planned, g.again, g.firstEnd, g.soughtAgain, g.noRoom, g.completed, g.tries.next, g.tries.sooner,
	} {
		c.time(t)
	}
	c.seenAt(g.looked)
	c.seenAt(g.sought)
	if g.clearing != nil {
		c.put(len(g.clearing.victims))
		c.time(g.clearing.until)
		c.time(g.clearing.evictAgain)
		c.seenAt(g.clearing.seen)
	}
}

// code is the world in a form that can be compared.
func (w *world) code() []byte {
	c := &code{world: w, text: make([]byte, 0, 400)}
	for group := range w.group {
		mg, key := &w.group[group], keyOf(group)
		c.put(int(mg.variant), mg.frozen, int(mg.began-w.now), int(mg.born-w.now), int(mg.life))
		if mg.record != nil {
			c.put(mg.record.Members, mg.record.MinMember)
			c.time(mg.record.Time)
		}
		if g := w.state.groups[key]; g != nil {
			c.group(g)
		}
	}
	for i := range w.pods {
		p := &w.pod[i]
		c.put(int(p.phase), int(p.version), int(p.place), int(p.told), int(p.created-w.now))
		c.put(int(p.lived))
		c.flag(slices.ContainsFunc(w.commits, func(commit WriteRecords) bool { return commit.Commit == p.begun }))
		c.flag(p.letGo, p.mayBind, p.left, p.hold != 0, p.lifting, p.free, p.came == p.place+1, p.owed)
		if p.owed {
			c.put(int(p.owedAt - w.now))
		}
		c.aheadPod(&p.aheadPod)
		if p.hold != 0 {
			c.put(int(p.heldAt - w.now))
		}
	}
	for i := range w.singles {
		c.put(int(w.single[i]))
	}
	for _, commit := range w.commits {
		for _, r := range commit.Records {
			c.put(int(r.Group.Name[0]), r.Record.MinMember, r.Record.Members)
			c.time(r.Record.Time)
			g := w.state.groups[r.Group]
			c.flag(g != nil && g.recording == commit.Commit)
		}
	}
	c.flag(w.gone[:]...)
	for _, taken := range w.taken {
		c.put(int(taken))
	}
	c.flag(w.state.stopped)
	c.time(w.state.renewed)
	for _, left := range w.left {
		c.put(int(left))
	}
	return c.text
}

func (w *world) hash() (key [16]byte) {
	h := fnv.New128a()
	h.Write(w.code())
	h.Sum(key[:0])
	return key
}

// node is a state that was reached, and how.
type node struct {
	*world
	path *path
}

type path struct {
	before *path
	step   step
}

func (p *path) String() string {
	var steps []string
	for ; p != nil; p = p.before {
		steps = append(steps, p.step.String())
	}
	slices.Reverse(steps)
	return strings.Join(steps, "\n  ")
}

// explore takes every step from every state, breadth first, until it has seen at most states. It returns the
// number of states, how many steps all of them are away from the start, and whether that is all.
func explore(t testing.TB, m *model, most int, each int) (states, depth int, all bool) {
	start := newWorld(m)
	seen := map[[16]byte]struct{}{start.hash(): {}}
	level := []node{{world: start}}
	taken := 0
	for ; len(level) > 0; depth++ {
		var next []node
		for at, from := range level {
			for _, s := range from.steps() {
				to := from.clone()
				if taken++; taken%each == 0 {
					compare(t, from, s)
				}
				if taken%(32*each) == 0 {
					if wrong := from.livelyFrom(); len(wrong) > 0 {
						t.Fatalf("%s: %v\nin the end, after\n  %s\nthen: %v", m.name, wrong, from.path, from.world)
					}
				}
				to.take(s)
				if len(to.wrong) > 0 {
					t.Fatalf("%s: %v\nafter\n  %s\n  %s\nbefore: %v\nafter: %v", m.name, to.wrong, from.path, s, from.world, to)
				}
				key := to.hash()
				if _, known := seen[key]; known {
					continue
				}
				seen[key] = struct{}{}
				if len(seen) < most {
					next = append(next, node{to, &path{from.path, s}})
				}
			}
			level[at] = node{}
			if len(seen) >= 2*most {
				return len(seen), depth, false
			}
		}
		if len(seen) >= most {
			return len(seen), depth + 1, false
		}
		level = next
	}
	return len(seen), depth, true
}

// compare takes one step twice: equal states and events have equal effects.
func compare(t testing.TB, from node, s step) {
	one, other := from.clone(), from.clone()
	one.log, other.log = []string{}, []string{}
	one.take(s)
	other.take(s)
	if !slices.Equal(one.log, other.log) || one.hash() != other.hash() {
		t.Fatalf("%s: one step differs:\n%s\nafter\n  %s\n  %s\n%v\n%v", one.name, s, from.path, s, one.log, other.log)
	}
}

// models are all that are explored.
func models() []*model {
	freely := func(kinds ...kind) func(*model) {
		return func(m *model) {
			for _, k := range kinds {
				m.faults[k] = -1
			}
		}
	}
	some := func(times int8, kinds ...kind) func(*model) {
		return func(m *model) {
			for _, k := range kinds {
				m.faults[k] = times
			}
		}
	}
	without := func(kinds ...kind) func(*model) {
		return func(m *model) {
			for _, k := range kinds {
				m.faults[k] = 0
			}
		}
	}
	usual := freely(ask, bind, bindOK, recordOK, plan, tick, create)
	with := func(m model, change ...func(*model)) *model {
		usual(&m)
		for _, f := range change {
			f(&m)
		}
		return &m
	}
	ahead := freely(gatesDue, gateOK, nominate, touch, schedule, refuse, confirm)
	toldAhead := []step{{plan, 0}, {nominate, 0}, {nominate, 1}}
	goneAhead := append(slices.Clone(toldAhead), step{wait, 0}, step{confirm, 0}, step{recordOK, 0})
	two := [mostGroups][]int64{{2}, {2}}
	inTwos, asked := [mostPods]int{0, 0, 1, 1}, []step{{plan, 0}, {ask, 0}, {ask, 1}}
	held := append(slices.Clone(asked), step{bind, 0}, step{bind, 1})
	free := append(slices.Clone(held), step{recordOK, 0})
	again := append(slices.Clone(held), step{waitLong, 0}, step{wait, 0}, step{plan, 0}, step{ask, 0}, step{ask, 1})
	return []*model{
		with(model{name: "two gangs, and room for one", pods: 4, groups: inTwos, least: two, room: []int{2, 1}}),
		with(
			model{
				name:   "time passes",
				pods:   3,
				groups: [mostPods]int{0, 0, 1},
				least:  [mostGroups][]int64{{2}, {1}},
				room:   []int{1, 1},
				before: asked,
			},
			some(1, recordLate, recordNot, fenced),
			some(2, wait, waitLong, hangUp),
			without(plan),
		),
		with(model{name: "calls and answers are lost", pods: 3, groups: [mostPods]int{0, 0, 0}, least: two, room: []int{2, 1}, before: asked},
			some(1, bindSeen, bindFails, bindLost, lose, waitLong, hangUp, askMissed), freely(lostBound, lostNot)),
		with(
			model{name: "pods come and go while a start is recorded", pods: 3, groups: [mostPods]int{}, least: two, room: []int{2, 1}, before: held},
			some(1, remove, replace, recordLate, recordNot, bindFails, waitLong, succeed),
		),
		with(model{
			name: "a PodGroup is created again", pods: 4, groups: [mostPods]int{}, late: [mostPods]bool{2: true, 3: true}, least: two,
			room: []int{2}, before: append(slices.Clone(free), step{bindOK, 0}, step{bindOK, 1}, step{wait, 0}),
		}, some(1, recreate, remove, recordNot, bindFails, waitLong), some(2, succeed, wait)),
		with(model{
			name: "members are being deleted as others come", pods: 4, groups: [mostPods]int{}, late: [mostPods]bool{2: true, 3: true}, least: two,
			room: []int{3, 1}, before: append(slices.Clone(free), step{bindOK, 0}, step{bindOK, 1}),
		}, some(2, terminate), some(1, remove, recordNot, bindFails, waitLong, succeed)),
		with(model{
			name: "calls end before the time of the gang", pods: 3, groups: [mostPods]int{}, least: two, room: []int{2, 1}, before: asked,
			hold: time.Second,
		}, some(3, wait), some(1, waitLong, askElse, lose, remove, recordLate, recordNot, bindFails, expire)),
		with(model{
			name: "calls end while a start is recorded", pods: 3, groups: [mostPods]int{}, least: [mostGroups][]int64{{3}, {1}}, room: []int{2, 1},
			before: []step{{plan, 0}, {ask, 0}, {bind, 0}, {wait, 0}, {ask, 1}, {ask, 2}, {bind, 1}, {bind, 2}}, hold: time.Second,
		}, some(2, wait, askElse), some(1, waitLong, remove, replace, recordLate, recordNot, bindLost, stop, change), freely(lostBound, lostNot)),
		with(model{
			name: "calls of groups that start together end", pods: 3, groups: [mostPods]int{0, 0, 1}, least: [mostGroups][]int64{{2}, {1}},
			bundle: true, room: []int{2, 1}, before: asked, hold: time.Second,
		}, some(2, wait), some(1, remove, waitLong, recordNot, fenced, hangUp)),
		with(model{
			name: "calls of batches end", pods: 4, groups: [mostPods]int{}, late: [mostPods]bool{2: true, 3: true},
			policy: string(v1alpha1.MatchOnlyWaiting), least: two, room: []int{3, 1}, before: asked, hold: time.Second,
		}, some(2, wait), some(1, bindFails, remove, waitLong, askMissed)),
		with(model{
			name: "a start is recorded after it was denied", pods: 2, groups: [mostPods]int{}, least: two, room: []int{2}, before: again,
		}, some(2, recordLate, recordNot), some(1, fenced, waitLong, wait, remove, replace, bindFails)),
		with(model{
			name: "another number is asked for", pods: 3, groups: [mostPods]int{}, late: [mostPods]bool{2: true},
			least: [mostGroups][]int64{{2, 3, 1}, {1}}, room: []int{2, 1}, before: asked,
		}, some(1, bindFails, recordNot, remove), some(2, change)),
		with(model{
			name: "a start is left half done", pods: 4, groups: [mostPods]int{}, late: [mostPods]bool{3: true},
			least: [mostGroups][]int64{{2, 4}, {1}}, room: []int{2, 2}, before: free,
		}, some(1, remove, replace, change, waitLong), some(2, bindFails)),
		with(model{
			name: "two groups that start together", pods: 3, groups: [mostPods]int{0, 0, 1}, least: [mostGroups][]int64{{2}, {1}},
			bundle: true, room: []int{2, 1}, before: asked,
		}, some(1, remove, replace, expire, waitLong, recordLate, recordNot, fenced, hangUp)),
		with(model{
			name: "a process ends", pods: 3, groups: [mostPods]int{0, 0, 1}, least: [mostGroups][]int64{{2}, {1}}, room: []int{2, 1}, before: asked,
		}, some(1, stop, recordLate, recordNot, fenced, expire, lose, remove)),
		with(model{
			name: "batches", pods: 4, groups: [mostPods]int{}, late: [mostPods]bool{2: true, 3: true},
			policy: string(v1alpha1.MatchOnlyWaiting), least: two, room: []int{3, 1}, before: free,
		}, some(1, bindLost, remove, waitLong), some(2, bindFails), freely(lostBound, lostNot)),
		with(model{
			name: "a gang outranks another", pods: 4, groups: inTwos, ranks: [mostPods]int32{0, 0, 1, 1},
			late: [mostPods]bool{2: true, 3: true}, least: two, room: []int{2}, before: asked,
		}, some(1, askFlaky, expire, waitLong, bindFails)),
		with(model{
			name: "a gang that has begun is outranked", pods: 4, groups: inTwos, ranks: [mostPods]int32{0, 0, 1, 1},
			late: [mostPods]bool{2: true, 3: true}, least: two, room: []int{2}, before: free,
		}, some(1, bindFails, remove), without(tick)),
		with(model{
			name: "others are evicted for a gang", pods: 2, groups: [mostPods]int{}, ranks: [mostPods]int32{1, 1, 1},
			least: [mostGroups][]int64{{2}, {1}}, room: []int{1, 1}, singles: []int{0, 1},
		}, freely(preempt, vanish), some(1, waitLong, askFlaky, remove, replace, hangUp), some(2, wait)),
		with(model{
			name: "the scheduler does not ask whom to evict", pods: 3, groups: [mostPods]int{}, ranks: [mostPods]int32{1, 1, 1},
			least: [mostGroups][]int64{{3}, {1}}, room: []int{2, 2}, singles: []int{0, 1}, preempt: 2 * time.Second,
		}, freely(vanish), some(1, preempt, waitLong, remove, replace, hangUp), some(4, wait)),
		with(model{
			name: "gates", pods: 3, groups: [mostPods]int{0, 0, 1}, gated: true, least: [mostGroups][]int64{{2}, {1}},
			room: []int{2}, late: [mostPods]bool{1: true},
		}, freely(gatesDue, gateOK), some(1, remove, waitLong, stop)),
		with(model{
			name: "room is kept ahead of the scheduler", pods: 2, groups: [mostPods]int{}, gated: true, ahead: true, least: two, room: []int{2, 1},
			before: toldAhead[:1],
		}, ahead, some(1, waitLong, lose), some(2, wait, rivalBound)),
		with(model{
			name: "two gangs ahead of their scheduler", pods: 4, groups: inTwos, gated: true, ahead: true, least: two, room: []int{2, 1},
			before: toldAhead,
		}, ahead, some(1, rivalBound, remove, another), some(2, wait), without(tick)),
		with(model{
			name: "a start is recorded ahead of the scheduler", pods: 3, groups: [mostPods]int{}, late: [mostPods]bool{2: true}, gated: true,
			ahead: true, least: two, room: []int{2, 2}, before: toldAhead,
		}, ahead, some(1, another, lose, remove, recordLate, recordNot, fenced, expire, waitLong), some(2, wait), without(tick)),
		with(model{
			name: "members are let go ahead of the scheduler", pods: 3, groups: [mostPods]int{}, late: [mostPods]bool{2: true}, gated: true,
			ahead: true, least: two, room: []int{2, 2}, before: goneAhead,
		}, ahead, some(1, lose, remove, expire, waitLong, replace), some(2, wait, rivalBound), without(tick)),
	}
}

// TestInterleavings takes all possible steps of small models, in every order: after each step every promise of
// package core has to hold. INTERLEAVINGS is the least number of states of each model, if the model has that
// many. A short run looks at the first ones, where e2e/gangmutants finds most of what it breaks.
func TestInterleavings(t *testing.T) {
	most, each := 6_000, 8
	if testing.Short() {
		most = 300
	}
	if text := os.Getenv("INTERLEAVINGS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		most, each = n, 64
	}
	sum := 0
	for _, m := range models() {
		t.Run(m.name, func(t *testing.T) {
			started := time.Now()
			states, depth, all := explore(t, m, most, each)
			t.Logf("%d states, all within %d steps (there are no more: %t), in %s", states, depth, all, time.Since(started).Round(time.Millisecond))
			sum += states
		})
	}
	fmt.Printf("figure interleavings_explored=%d\n", sum)
}
