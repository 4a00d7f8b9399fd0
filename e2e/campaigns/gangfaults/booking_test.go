package gangfaults

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// seen are looks in the calm that are alike, some ends of pods apart.
func seen(count, ends int, l look) (all []look) {
	l.calm, l.leads = true, true
	binds := l.binds
	for i := range count {
		l.at = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(i) * lookApart)
		l.ends, l.binds = ends*i, binds*i
		all = append(all, l)
	}
	return all
}

// but has some looks be others.
func but(all []look, from, to int, change func(*look)) []look {
	for i := range all[from:to] {
		change(&all[from+i])
	}
	return all
}

func TestAGangStarvesThatCouldStartWhileManyPodsEnd(t *testing.T) {
	could := look{could: []string{"g"}}
	for name, test := range map[string]struct {
		looks   []look
		starved int
	}{
		"it waits for long":              {seen(60, 10, could), 1},
		"it waits":                       {seen(30, 10, could), 0},
		"it waits while things go":       {but(seen(60, 10, could), 0, 30, func(l *look) { l.calm = false }), 0},
		"it could not for a while":       {but(seen(60, 10, could), 30, 31, func(l *look) { l.could = nil }), 0},
		"another one starts":             {but(seen(60, 10, could), 30, 60, func(l *look) { l.started = 1 }), 0},
		"others wait as well":            {seen(60, 10, look{could: []string{"g", "h"}}), 2},
		"nothing happens at all":         {seen(stuckLooks+10, 0, could), 1},
		"muster was not asked meanwhile": {but(seen(60, 10, could), 0, 60, func(l *look) { l.blind = true }), 1},
	} {
		if found, _ := judgeStarved(test.looks, 10); len(found) != test.starved {
			t.Errorf("%s: found %v, want %d", name, found, test.starved)
		}
	}
}

func TestRoomIsBookedForSomebodyAndByTheLeader(t *testing.T) {
	for name, test := range map[string]struct {
		looks  []look
		beside []muster.RoomInTime
		found  string
	}{
		"for a gang that waits": {looks: seen(60, 1, look{pods: 4, owner: "g", wants: []string{"g"}})},
		"for nobody":            {looks: seen(60, 1, look{pods: 4}), found: ownerlessFound},
		"for a gang that does not wait": {
			looks: seen(60, 1, look{pods: 4, owner: "g", wants: []string{"h"}}), found: ownerlessFound,
		},
		"for a gang that has just gone":  {looks: seen(mostLooks-1, 1, look{pods: 4, owner: "g"})},
		"for a gang that comes and goes": {looks: but(seen(60, 1, look{pods: 4, owner: "g"}), 15, 30, func(l *look) { l.pods = 0 })[:45]},
		"nobody was asked":               {looks: but(seen(60, 1, look{pods: 4}), 0, 60, func(l *look) { l.blind = true })},
		"by another one than the leader": {
			looks: but(seen(60, 1, look{pods: 4, owner: "g", wants: []string{"g"}}), 20, 40, func(l *look) { l.leads = false }),
			found: notLeaderFound,
		},
		"by one whose term is just over": {
			looks: but(seen(60, 1, look{pods: 4, owner: "g", wants: []string{"g"}}), 20, 22, func(l *look) { l.leads = false }),
		},
		"by one that stands by": {
			beside: []muster.RoomInTime{{Pods: map[string]float64{"default": 4}}, {Pods: map[string]float64{"default": 4}}},
			found:  notLeaderFound,
		},
		"by one that stood by and leads": {
			beside: []muster.RoomInTime{{}, {Leads: true, Pods: map[string]float64{"default": 4}}, {Leads: true, Pods: map[string]float64{"x": 1}}},
		},
	} {
		found := ""
		for _, f := range judgeOwners(test.looks, test.beside, 5*time.Second) {
			found = f.What
		}
		if found != test.found {
			t.Errorf("%s: found %q, want %q", name, found, test.found)
		}
	}
}

func TestRoomIsKeptForAGangForAWhileOnly(t *testing.T) {
	kept := look{pods: 4, owner: "g", room: []string{"g"}, wants: []string{"g"}}
	for name, test := range map[string]struct {
		looks []look
		found int
	}{
		"for long":                  {seen(150, 1, kept), 1},
		"for a while":               {seen(100, 1, kept), 0},
		"while it has no room":      {but(seen(150, 1, kept), 70, 71, func(l *look) { l.room = nil }), 0},
		"for others in between":     {but(seen(150, 1, kept), 70, 71, func(l *look) { l.owner, l.room = "h", []string{"h"} }), 0},
		"while nobody was asked":    {but(seen(150, 1, kept), 10, 140, func(l *look) { l.blind = true }), 1},
		"until all is calm":         {but(seen(150, 1, kept), 0, 100, func(l *look) { l.calm = false }), 0},
		"on a machine that is late": {seen(150, 1, kept)[:130], 0},
	} {
		if found := judgeKept(test.looks, 5*time.Second); len(found) != test.found {
			t.Errorf("%s: found %v, want %d", name, found, test.found)
		}
	}
}

func TestPodsThatTakeNoRoomOfAGangAreNotHeldBack(t *testing.T) {
	light, short := look{light: []string{"l"}}, look{short: []string{"s"}}
	for name, test := range map[string]struct {
		looks []look
		found int
	}{
		"one that asks for nothing":              {seen(60, 1, light), 1},
		"one that asks for nothing, for a while": {but(seen(60, 1, light), 30, 31, func(l *look) { l.light = nil }), 0},
		"while things go wrong":                  {but(seen(60, 1, light), 0, 40, func(l *look) { l.calm = false }), 0},
		"one that ends before":                   {seen(30, 1, short), 1},
		"one that ends before, as others are bound": {
			seen(30, 1, look{short: []string{"s"}, binds: 1}), 0,
		},
	} {
		if found := judgeHeldBack(test.looks); len(found) != test.found {
			t.Errorf("%s: found %v, want %d", name, found, test.found)
		}
	}
}

func TestNobodyIsEvictedForRoomInTime(t *testing.T) {
	evicted := func(by string) []entry {
		higher := func(p *corev1.Pod) { p.Spec.Priority = new(int32(1)) }
		return newTale().pod("victim", single, bound).pod("member").pod("urgent", single, higher).
			tell(entry{event: &corev1.Event{
				InvolvedObject: corev1.ObjectReference{UID: types.UID("victim"), Name: "victim"}, Reason: "Preempted", Message: by,
			}}).entries
	}
	for by, want := range map[string]int{
		"Preempted by pod urgent on node n": 0, "Preempted by pod member on node n": 1, "Preempted by pod gone on node n": 1,
		"Evicted to make room for gang default/g": 1,
	} {
		if found := judgeRoomEvictions(evicted(by)); len(found) != want {
			t.Errorf("%s: found %v, want %d", by, found, want)
		}
	}
}

// The cluster has two nodes of four cores, and g asks for two or three of them.
func TestWhatAGangCouldHaveIsSeen(t *testing.T) {
	nodes := func(t *tale) *tale {
		for _, name := range []string{"n", "m"} {
			t.tell(entry{node: workload.NewNode(name, "4", workload.Room(64, 20))})
		}
		return t
	}
	on := func(cpu string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec, p.Annotations = workload.PodSpec(cpu), map[string]string{controlplane.RunsForAnnotation: "2s"}
			single(p)
			bound(p)
		}
	}
	stays := func(p *corev1.Pod) { p.Annotations = nil }
	refused := func(p *corev1.Pod) { p.Spec.Volumes = (&gang{refused: []int{0}}).pod(0).Spec.Volumes }
	light := func(p *corev1.Pod) { *p = *(&small{seed: 1}).named(asksForNoCPU) }
	for name, test := range map[string]struct {
		tale               *tale
		could, wants, room bool
		light              int
	}{
		"it waits":           {nodes(newTale()).group(2, "").pod("a").pod("b"), true, true, true, 0},
		"behind another pod": {nodes(newTale()).group(2, "").pod("a").pod("b").pod("c", on("4")), true, true, true, 0},
		"behind two":         {nodes(newTale()).group(2, "").pod("a").pod("b").pod("c", on("4")).pod("d", on("4")), true, true, false, 0},
		"behind two that stay": {
			nodes(newTale()).group(2, "").pod("a").pod("b").pod("c", on("4"), stays).pod("d", on("4"), stays), false, false, false, 0,
		},
		"a member is missing":        {nodes(newTale()).group(2, "").pod("a"), false, false, false, 0},
		"a member is refused":        {nodes(newTale()).group(2, "").pod("a").pod("b", refused), false, true, true, 0},
		"it has started":             {nodes(newTale()).group(2, "").pod("a", bound).pod("b", bound), false, false, false, 0},
		"it asks for more than half": {nodes(newTale()).group(5, "").pod("a").pod("b").pod("c").pod("d").pod("e"), false, false, false, 0},
		"there are no nodes":         {newTale().group(2, "").pod("a").pod("b"), false, false, false, 0},
		"a pod waits that asks not":  {nodes(newTale()).group(2, "").pod("a").pod("l", light), false, false, false, 1},
	} {
		r := newRecord()
		r.now = test.tale.state()
		if strings.HasPrefix(name, "behind two") {
			for _, pod := range r.now.pods {
				if pod.Name == "d" {
					pod.Spec.NodeName = "m"
				}
			}
		}
		var now look
		r.see(&now)
		has := func(names []string) bool { return slices.Contains(names, "g") }
		if has(now.could) != test.could || has(now.wants) != test.wants || has(now.room) != test.room || len(now.light) != test.light {
			t.Errorf("%s: seen %+v", name, now)
		}
	}
}

// named returns a small pod that says in a way how long it runs.
func (s *small) named(way string) *corev1.Pod {
	for number := 0; ; number++ {
		if pod := s.pod(number); isWay(pod, way) {
			return pod
		}
	}
}

func TestSmallPodsSayHowLongTheyRunInAllWays(t *testing.T) {
	s := &small{seed: 1, liars: true, slow: 2}
	for _, way := range []string{saysTruly, hasDeadline, saysNothing, asksForNoCPU, saysTooLittle, saysTooMuch, runsLong} {
		pod := s.named(way)
		if !isSmall(pod) || runsFor(pod) <= 0 {
			t.Errorf("%s does not end: %v", pod.Name, pod.Annotations)
		}
	}
	liars := 0
	for number := range 1000 {
		if pod := (&small{seed: 1}).pod(number); isWay(pod, saysTooLittle) || isWay(pod, saysTooMuch) {
			liars++
		}
	}
	if liars > 0 {
		t.Errorf("%d pods lie where none is to", liars)
	}
}

func TestTheNextSmallPodComesWhenOneEnds(t *testing.T) {
	c := newChurn(small{seed: 1, load: 2000})
	var first *corev1.Pod
	for pod := c.next(); pod != nil; pod = c.next() {
		if first == nil && !isWay(pod, asksForNoCPU) {
			first = pod
		}
	}
	came := c.count
	first.Status.Phase = corev1.PodSucceeded
	for range 2 { // it ends once
		c.observe(watch.Event{Type: watch.Modified, Object: first})
	}
	if ends, _ := c.counts(); ends != 1 || c.next() == nil {
		t.Errorf("%d pods came, %d have ended, and none comes", came, ends)
	}
	c.end()
	c.observe(watch.Event{Type: watch.Modified, Object: first})
	if c.next() != nil {
		t.Error("pods come after the end")
	}
}
