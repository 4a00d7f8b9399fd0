package policy

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/config"
)

const rack = "topology.kubernetes.io/rack"

// rack puts nodes with 4 CPUs into a rack.
func (s *scene) rack(name string, nodes ...string) {
	for _, node := range nodes {
		s.node(node, "4", time.Hour, func(n *corev1.Node) { n.Labels[rack] = name })
	}
}

func TestFreeDomains(t *testing.T) {
	tests := []struct {
		name   string
		config config.FreeDomainsPolicy
		scene  func(*scene)
		want   []string
		why    string
	}{
		{
			name: "nodes of the cheapest domain become empty", config: config.FreeDomainsPolicy{Key: rack, Nodes: 2, Domains: 1},
			scene: func(s *scene) {
				s.rack("a", "a1", "a2")
				s.rack("b", "b1", "b2")
				s.pod("w-1", "a1", "3")
				s.pod("x-1", "a2", "2")
				s.pod("x-2", "a2", "2")
				s.pod("y-1", "b1", "1")
				s.pod("z-1", "b2", "4")
				s.node("c1", "4", time.Hour)
			},
			want: []string{"y-1: b1 → a1", "z-1: b2 → c1"},
		},
		{
			name: "no node has the label", config: config.FreeDomainsPolicy{Key: rack, Nodes: 1, Domains: 1},
			scene: func(s *scene) { s.node("a1", "4", time.Hour) }, why: `no node has the label "topology.kubernetes.io/rack"`,
		},
		{
			name: "there are enough", config: config.FreeDomainsPolicy{Key: rack, Nodes: 1, Domains: 1},
			scene: func(s *scene) { s.rack("a", "a1") }, why: "enough domains are free (1)",
		},
		{
			name: "there are no more", config: config.FreeDomainsPolicy{Key: rack, Nodes: 1, Domains: 2},
			scene: func(s *scene) { s.rack("a", "a1") }, why: "all domains are free, but there are 1, not 2",
		},
		{
			name: "none can be freed", config: config.FreeDomainsPolicy{Key: rack, Nodes: 2, Domains: 1},
			scene: func(s *scene) {
				s.rack("a", "a1", "a2")
				s.pod("w-1", "a1", "1")
			},
			why: "no domain can be freed; of a: no other places were found for the pods of enough nodes at once",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newScene(t)
			test.scene(s)
			plan, why := freeDomains(&test.config)(s.situation())
			if diff := cmp.Diff(test.want, steps(plan)); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if why != test.why {
				t.Errorf("it is said %q, want %q", why, test.why)
			}
		})
	}
}

func TestCoalesceLeavesEmptyNodesOfADomainAlone(t *testing.T) {
	s := newScene(t)
	s.rack("a", "a1", "a2")
	s.rack("b", "b1", "b2")
	s.pod("x-1", "b1", "1")
	s.pod("y-1", "b2", "2")
	free := freeDomains(&config.FreeDomainsPolicy{Key: rack, Nodes: 2, Domains: 1})
	if plan, why := free(s.situation()); len(steps(plan)) > 0 {
		t.Fatalf("%v move, want none as rack a is free: %s", steps(plan), why)
	}
	plan, _ := coalesce(&config.DisruptionBudgets{NodesPerPlan: 1})(s.situation())
	if diff := cmp.Diff([]string{"x-1: b1 → b2"}, steps(plan)); diff != "" {
		t.Errorf("steps of Coalesce (-want +got):\n%s", diff)
	}
}
