package gangfaults

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/workload"
)

// racked tells of two racks of two nodes with two cores each, and of a gang g of four that asks for something.
func racked(near nearness) (*tale, map[string]*gang) {
	g := &gang{name: "g", label: v1alpha1.LabelX, minMember: 4, near: near}
	t := newTale()
	for _, name := range []string{"a1", "a2", "b1", "b2"} {
		node := workload.NewNode(name, "2", workload.Room(64, 20))
		node.Labels[blockKey], node.Labels[rackKey] = "block", name[:1]
		t.tell(entry{node: node})
	}
	return t.tell(entry{group: g.podGroup()}), map[string]*gang{"g": g}
}

// named splits names of nodes.
func named(nodes string) []string {
	return strings.FieldsFunc(nodes, func(r rune) bool { return r == ',' })
}

// boundTo has members be bound, each to the next node.
func (t *tale) boundTo(nodes string) *tale {
	for i, node := range named(nodes) {
		t.pod(memberName("g", i), func(p *corev1.Pod) { p.Spec.NodeName = node })
	}
	return t
}

func TestAGroupThatStartsWithOnePodIsLeftToTheScheduler(t *testing.T) {
	for _, least := range []int{1, 2} {
		tale, gangs := racked(nearness{required: rackKey})
		gangs["g"].label = native
		tale.ownGroup(2)
		tale.ownGroup(least)
		for i, node := range []string{"a1", "b1"} {
			tale.pod(memberName("g", i), own, func(p *corev1.Pod) { p.Spec.NodeName = node })
		}
		if v := judgeNear(tale.entries, gangs); len(v.findings) != least-1 {
			t.Errorf("with a minimum of %d there are %d findings: %v", least, len(v.findings), v.findings)
		}
	}
}

func TestMembersAreFoundThatAreApart(t *testing.T) {
	for name, test := range map[string]struct {
		near         nearness
		then         func(*tale) *tale
		nodes, found string
		inside       int
	}{
		"all in a rack":                  {near: nearness{required: rackKey}, nodes: "a1,a1,a2,a2"},
		"one in another":                 {near: nearness{required: rackKey}, nodes: "a1,a1,a2,b1", found: apartFound},
		"one in another, of a block":     {near: nearness{required: blockKey}, nodes: "a1,a1,a2,b1"},
		"on two nodes, and one is asked": {near: nearness{required: corev1.LabelHostname}, nodes: "a1,a2", found: apartFound},
		"slices":                         {near: nearness{size: 2, sliced: rackKey}, nodes: "a1,b1,a2,b2"},
		"a split slice":                  {near: nearness{size: 2, sliced: rackKey}, nodes: "a1,b1,b1,b2", found: splitFound},
		"a part of a gang":               {near: nearness{size: 2, sliced: rackKey}, nodes: "a1,b1,b1"},
		"a replacement": {near: nearness{required: rackKey}, nodes: "a1,a1,a2,a2", inside: 1, then: func(t *tale) *tale {
			return t.lost("g-0").pod("g-4", func(p *corev1.Pod) { p.Spec.NodeName = "a1" })
		}},
		"a replacement elsewhere": {near: nearness{required: rackKey}, nodes: "a1,a1,a2,a2", found: apartFound, then: func(t *tale) *tale {
			return t.lost("g-0").pod("g-4", func(p *corev1.Pod) { p.Spec.NodeName = "b1" })
		}},
		"all again": {near: nearness{required: rackKey}, nodes: "a1", inside: 0, then: func(t *tale) *tale {
			return t.lost("g-0").pod("g-4", func(p *corev1.Pod) { p.Spec.NodeName = "b1" })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			tale, gangs := racked(test.near)
			tale.boundTo(test.nodes)
			if test.then != nil {
				test.then(tale)
			}
			v := judgeNear(tale.entries, gangs)
			found := ""
			for _, f := range v.findings {
				found = f.What
			}
			if found != test.found || v.inside != test.inside {
				t.Errorf("found %v, and %d replaced inside, want %q and %d", v.findings, v.inside, test.found, test.inside)
			}
		})
	}
}

func TestAGangNearEachOtherIsSettledWhenNoDomainHasRoom(t *testing.T) {
	for name, test := range map[string]struct {
		near    nearness
		taken   string // nodes on which a pod has a core
		refused bool   // the scheduler refuses the last member
		bound   string // nodes of the first members
		settled bool
	}{
		"a rack is free":                 {near: nearness{required: rackKey}, taken: "a1"},
		"no rack is":                     {near: nearness{required: rackKey}, taken: "a1,b1", settled: true},
		"the block is":                   {near: nearness{required: blockKey}, taken: "a1,b1"},
		"the rack of the others":         {near: nearness{required: rackKey}, bound: "a1,a1"},
		"not the rack of the others":     {near: nearness{required: rackKey}, taken: "a2", bound: "a1,a1", settled: true},
		"slices":                         {near: nearness{size: 2, sliced: rackKey}, taken: "a1,b1,b2"},
		"half slices":                    {near: nearness{size: 2, sliced: rackKey}, taken: "a1,b1", bound: "b2", settled: true},
		"a member of a slice is refused": {near: nearness{size: 2, sliced: rackKey}, bound: "a1,a1", refused: true, settled: true},
		"no slice of three":              {near: nearness{size: 3, sliced: rackKey}, settled: true},
	} {
		t.Run(name, func(t *testing.T) {
			tale, _ := racked(test.near)
			for _, node := range named(test.taken) {
				tale.pod("single-"+node, single, func(p *corev1.Pod) { p.Spec.NodeName = node })
			}
			tale.boundTo(test.bound)
			for i := len(named(test.bound)); i < 4; i++ {
				tale.pod(memberName("g", i), func(p *corev1.Pod) {
					if test.refused && i == 3 {
						p.Spec.Volumes = (&gang{refused: []int{0}}).pod(0).Spec.Volumes
					}
				})
			}
			s := tale.state()
			if because := s.unsettled(); test.settled == strings.Contains(strings.Join(because, "\n"), "fit") {
				t.Errorf("unsettled because %v, want settled: %t", because, test.settled)
			}
		})
	}
}
