package gangfaults

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/e2e/workload"
)

// inNative has a pod name a PodGroup of Kubernetes' own.
func inNative(group string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Labels, p.Spec.SchedulingGroup = nil, &corev1.PodSchedulingGroup{PodGroupName: &group}
	}
}

// grown tells of a tree with gangs g of one pod, h of two and i of one, that starts with some of them.
func grown(atLeast int) *tale {
	of := &tree{name: "root", atLeast: atLeast}
	t := newTale().tell(entry{group: of.object("")})
	for name, minMember := range map[string]int{"g": 1, "h": 2, "i": 1} {
		t.life(name, &gang{name: name, label: native, minMember: minMember, tree: of})
	}
	return t.pod("g-0", inNative("g")).pod("h-0", inNative("h")).pod("h-1", inNative("h")).pod("i-0", inNative("i"))
}

func TestATreeIsSettledWhenNoMoreOfItCouldStart(t *testing.T) {
	bind := func(group string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			inNative(group)(p)
			bound(p)
		}
	}
	for name, test := range map[string]struct {
		cores   int64
		tale    *tale
		settled bool
	}{
		"there is room for the two smallest":    {2, grown(2), false},
		"there is room for one":                 {1, grown(2), true},
		"one is enough":                         {1, grown(1), false},
		"all have to start":                     {3, grown(3), true},
		"all have room":                         {4, grown(3), false},
		"two have started, and one has no room": {3, grown(2).pod("g-0", bind("g")).pod("i-0", bind("i")), true},
		"two have started, and one has room":    {4, grown(2).pod("g-0", bind("g")).pod("i-0", bind("i")), false},
		"the tree is gone":                      {4, grown(2).tell(entry{group: (&tree{name: "root", atLeast: 2}).object(""), gone: true}), true},
		"a pod of the second one is missing":    {2, grown(2).tell(entry{pod: pod("i-0", inNative("i")), gone: true}), true},
	} {
		t.Run(name, func(t *testing.T) {
			s := test.tale.state()
			s.apply(entry{node: workload.NewNode("n", workload.Milli(1000*test.cores), workload.Room(64, 20))})
			if because := s.unsettled(); (len(because) == 0) != test.settled {
				t.Errorf("unsettled because %v, want settled: %t", because, test.settled)
			}
		})
	}
}

func TestNoMemberOfATreeIsLetGoBeforeEnoughGangsAreReady(t *testing.T) {
	for name, test := range map[string]struct {
		held  []string // with the one that is let go
		found int
	}{
		"alone":                       {nil, 1},
		"with a part of another gang": {[]string{"h-0"}, 1},
		"with another gang":           {[]string{"i-0"}, 0},
		"with a whole gang of two":    {[]string{"h-0", "h-1"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			tale := grown(2).pass(time.Hour)
			calls := []call{{pod: "g-0", gang: "g", arrived: tale.at, let: tale.at}}
			for _, pod := range test.held {
				calls = append(calls, call{pod: pod, gang: gangOf(pod), arrived: tale.at})
			}
			if findings := judgeStarts(tale.entries, calls, tale.at, 0); len(findings) != test.found {
				t.Errorf("found %v, want %d", findings, test.found)
			}
		})
	}
}

// rooted tells of a tree with gangs g and h of two pods each, all of them in one block, and of two nodes in each of two blocks.
func rooted(cores string) (*tale, map[string]*gang) {
	of := &tree{name: "root", atLeast: 2, near: blockKey}
	t, gangs := newTale().tell(entry{group: of.object("")}), map[string]*gang{}
	for _, name := range []string{"g", "h"} {
		gangs[name] = &gang{name: name, label: native, minMember: 2, tree: of}
		t.life(name, gangs[name])
	}
	for _, name := range []string{"a1", "a2", "b1", "b2"} {
		node := workload.NewNode(name, cores, workload.Room(64, 20))
		node.Labels[blockKey] = name[:1]
		t.tell(entry{node: node})
	}
	return t, gangs
}

func TestGroupsOfATreeAreFoundThatAreApart(t *testing.T) {
	for on, want := range map[string]string{"a1,a1,a2,a2": "", "a1,a1,b1,b1": apartFound} {
		tale, gangs := rooted("2")
		nodes := named(on)
		for i, member := range []string{"g-0", "g-1", "h-0", "h-1"} {
			tale.pod(member, inNative(member[:1]), func(p *corev1.Pod) { p.Spec.NodeName = nodes[i] })
		}
		found := ""
		for _, f := range judgeNear(tale.entries, gangs).findings {
			found = f.What
		}
		if found != want {
			t.Errorf("on %s is found %q, want %q", on, found, want)
		}
	}
}

func TestATreeIsSettledWhenNoBlockHasRoom(t *testing.T) {
	for cores, settled := range map[string]bool{"1": true, "2": false} {
		tale, _ := rooted(cores)
		for _, member := range []string{"g-0", "g-1", "h-0", "h-1"} {
			tale.pod(member, inNative(member[:1]))
		}
		if because := tale.state().unsettled(); (len(because) == 0) != settled {
			t.Errorf("unsettled with %s cores on each node because %v, want settled: %t", cores, because, settled)
		}
	}
}
