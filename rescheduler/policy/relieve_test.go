package policy

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/cluster"
)

func (h *Hot) names(snap *cluster.Snapshot) (names []string) {
	for _, node := range h.nodes(snap, h.bars(snap).high) {
		names = append(names, node.Name)
	}
	return names
}

func TestANodeIsHotAfterSamplesInARow(t *testing.T) {
	const minute = time.Minute
	evicted := func(after time.Duration) func(string) time.Time {
		return func(string) time.Time { return noon().Add(after) }
	}
	type sample struct {
		after    time.Duration
		milliCPU int64
		evicted  func(string) time.Time
	}
	for name, test := range map[string]struct {
		samples []sample
		want    []string
	}{
		"none":                     {nil, nil},
		"two":                      {[]sample{{0, 8000, never}, {minute, 8000, never}}, nil},
		"three":                    {[]sample{{0, 8000, never}, {minute, 9000, never}, {2 * minute, 8000, never}}, []string{"a"}},
		"the same one three times": {[]sample{{0, 8000, never}, {0, 8000, never}, {0, 8000, never}}, nil},
		"just below the threshold once": {
			[]sample{{0, 8000, never}, {minute, 7999, never}, {2 * minute, 8000, never}, {3 * minute, 8000, never}}, nil,
		},
		"three after that": {
			[]sample{{0, 7999, never}, {minute, 8000, never}, {2 * minute, 8000, never}, {3 * minute, 8000, never}}, []string{"a"},
		},
		"of a minute in which a pod was evicted": {
			[]sample{{0, 8000, never}, {minute, 8000, never}, {2 * minute, 8000, evicted(minute + time.Second)}}, nil,
		},
		"two after an eviction": {
			[]sample{
				{0, 8000, never},
				{minute, 8000, evicted(30 * time.Second)},
				{2 * minute, 8000, evicted(30 * time.Second)},
				{3 * minute, 8000, evicted(30 * time.Second)},
			}, nil,
		},
		"three after an eviction": {
			[]sample{
				{0, 8000, never},
				{2 * minute, 8000, evicted(minute)},
				{3 * minute, 8000, evicted(minute)},
				{4 * minute, 8000, evicted(minute)},
			}, []string{"a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.node("a", "10", time.Hour)
			hot := s.hot()
			for _, sample := range test.samples {
				s.uses("a", sample.after, sample.milliCPU, nil)
				hot.Observe(s.cluster.Snapshot(), sample.evicted)
				hot.Observe(s.cluster.Snapshot(), sample.evicted)
			}
			if diff := cmp.Diff(test.want, hot.names(s.cluster.Snapshot())); diff != "" {
				t.Errorf("hot nodes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestANodeWhoseFiguresExpireIsNotHotAnyMore(t *testing.T) {
	s := newScene(t)
	s.node("a", "10", time.Hour)
	hot := s.hot()
	for i := range 3 {
		s.uses("a", time.Duration(i)*time.Minute, 9000, nil)
		hot.Observe(s.cluster.Snapshot(), never)
	}
	if len(hot.names(s.cluster.Snapshot())) != 1 {
		t.Fatal("the node is not hot")
	}
	old := *s.cluster.Snapshot().NodeByName("a").Usage
	old.Seen = old.Updated.Add(180 * time.Second)
	s.cluster.SetUsage("a", &old)
	hot.Observe(s.cluster.Snapshot(), never)
	s.uses("a", 6*time.Minute, 9000, nil)
	hot.Observe(s.cluster.Snapshot(), never)
	if got := hot.names(s.cluster.Snapshot()); len(got) > 0 {
		t.Errorf("hot are %v", got)
	}
}

func TestRelieve(t *testing.T) {
	const noTarget = "no pod can leave a, which uses 85 % of its cpu: no other node is a target for pods of it: " +
		"1 node: it would bear too much with the pod"
	bestEffort := func(p *corev1.Pod) { p.Status.QOSClass = corev1.PodQOSBestEffort }
	for name, test := range map[string]struct {
		scene func(*scene)
		want  []string
		why   string
	}{
		"nothing where no node is hot": {
			func(s *scene) { s.uses("a", 0, 7000, nil); s.uses("b", 0, 0, nil) }, nil, "no node is hot for long enough",
		},
		"a pod whose leaving makes the node use less than 80 %": {
			func(s *scene) {
				s.pod("x-1", "a", "1")
				s.pod("y-1", "a", "1")
				s.uses("a", 0, 8500, map[string]int64{"x-1": 501, "y-1": 500})
				s.uses("b", 0, 1000, nil)
			}, []string{"x-1: a → b"}, "", // 8,000 of 10,000 are too much
		},
		"nobody where a pod that is being deleted relieves the node": {
			func(s *scene) {
				s.pod("g-1", "a", "1", going)
				s.pod("u-1", "a", "1")
				s.pod("v-1", "a", "1")
				s.uses("a", 0, 9000, map[string]int64{"g-1": 1500, "u-1": 1000, "v-1": 1000})
				s.uses("b", 0, 1000, nil)
			}, nil, "pods that are being deleted relieve a, which uses 90 % of its cpu",
		},
		"one where what is being deleted relieves it by too little": {
			func(s *scene) {
				s.pod("g-1", "a", "1", going)
				s.pod("u-1", "a", "1")
				s.pod("v-1", "a", "1")
				s.uses("a", 0, 9000, map[string]int64{"g-1": 500, "u-1": 1000, "v-1": 1000})
				s.uses("b", 0, 1000, nil)
			}, []string{"u-1: a → b"}, "",
		},
		"by what is measured, not by requests": {
			func(s *scene) {
				s.pod("x-1", "a", "8")
				s.pod("y-1", "a", "1")
				s.uses("a", 0, 8500, map[string]int64{"x-1": 10, "y-1": 5000})
				s.uses("b", 0, 1000, nil)
			}, []string{"y-1: a → b"}, "",
		},
		"best effort first": {
			func(s *scene) {
				s.pod("x-1", "a", "1")
				s.pod("y-1", "a", "0", bestEffort)
				s.uses("a", 0, 8500, map[string]int64{"x-1": 2000, "y-1": 2000})
				s.uses("b", 0, 1000, nil)
			}, []string{"y-1: a → b"}, "",
		},
		"to no node that would not stay below 65 %": {
			func(s *scene) {
				s.pod("x-1", "a", "1")
				s.uses("a", 0, 8500, map[string]int64{"x-1": 2000})
				s.uses("b", 0, 4500, nil) // 6,500 of 10,000
				s.node("c", "10", time.Hour)
				s.pod("z-1", "c", "5")                             // which is preferred less
				s.uses("c", 0, 4499, map[string]int64{"z-1": 100}) // 6,499
			}, []string{"x-1: a → c"}, "",
		},
		"nor to one that pods are about to use": {
			func(s *scene) {
				s.pod("x-1", "a", "1")
				s.uses("a", 0, 8500, map[string]int64{"x-1": 2000})
				s.pod("z-1", "b", "6") // 5,100 by estimate
				s.uses("b", 0, 100, nil)
			}, nil, noTarget,
		},
		"nor to one that nothing is known about": {
			func(s *scene) {
				s.pod("x-1", "a", "1")
				s.uses("a", 0, 8500, map[string]int64{"x-1": 2000})
			}, nil, noTarget,
		},
		"one node at a time, the hottest": {
			func(s *scene) {
				s.node("c", "10", time.Hour)
				s.pod("x-1", "a", "1")
				s.uses("a", 0, 8500, map[string]int64{"x-1": 1000})
				s.pod("y-1", "b", "1")
				s.uses("b", 0, 8600, map[string]int64{"y-1": 1000})
				s.uses("c", 0, 0, nil)
			}, []string{"y-1: b → c"}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.samples = 1
			s.node("a", "10", time.Hour)
			s.node("b", "10", time.Hour)
			test.scene(s)
			hot := s.hot()
			hot.Observe(s.cluster.Snapshot(), never)
			plan, why := relieve(&s.config.Rescheduler.Budgets, hot)(s.situation())
			if diff := cmp.Diff(test.want, steps(plan)); diff != "" || why != test.why {
				t.Errorf("because %q, want %q; steps (-want +got):\n%s", why, test.why, diff)
			}
		})
	}
}

func TestAStepSaysOfWhatANodeUsesTooMuch(t *testing.T) {
	s := newScene(t)
	s.samples = 1
	s.node("a", "10", time.Hour)
	s.node("b", "10", time.Hour)
	s.pod("x-1", "a", "1")
	s.uses("a", 0, 9160, map[string]int64{"x-1": 2000})
	s.uses("b", 0, 0, nil)
	hot := s.hot()
	hot.Observe(s.cluster.Snapshot(), never)
	plan, _ := relieve(&s.config.Rescheduler.Budgets, hot)(s.situation())
	if want := "relieves a, which uses 92 % of its cpu"; len(plan.Steps) != 1 || plan.Steps[0].Why != want {
		t.Errorf("the steps are %+v, want one that %s", plan.Steps, want)
	}
}

func TestANodeWhoseProcessesWaitIsRelieved(t *testing.T) {
	const waits = "relieves a, whose processes wait for cpu 30 % of the time"
	for name, test := range map[string]struct {
		a, b cluster.Pressure // of both nodes
		want []string
	}{
		"nobody waits":                            {},
		"for less than the threshold":             {a: cluster.Pressure{CPU: 24.9}},
		"for long enough":                         {a: cluster.Pressure{CPU: 30}, want: []string{"x-2: a → b"}},
		"on the other node, too":                  {a: cluster.Pressure{CPU: 30}, b: cluster.Pressure{CPU: 25}},
		"on the other node, for another resource": {a: cluster.Pressure{CPU: 30}, b: cluster.Pressure{Memory: 95}},
		"for less of another resource":            {a: cluster.Pressure{Memory: 90}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.samples = 1
			s.config.Rescheduler.Relieve.PressureThresholds = map[corev1.ResourceName]int64{"cpu": 25, "memory": 95}
			s.node("a", "10", time.Hour)
			s.node("b", "10", time.Hour)
			s.pod("x-1", "a", "1")
			s.pod("x-2", "a", "1")
			s.uses("a", 0, 4000, map[string]int64{"x-1": 200, "x-2": 500}) // 400 are to go
			s.uses("b", 0, 1000, nil)
			for node, pressure := range map[string]cluster.Pressure{"a": test.a, "b": test.b} {
				usage := *s.cluster.Snapshot().NodeByName(node).Usage
				usage.Pressure = pressure
				s.cluster.SetUsage(node, &usage)
			}
			hot := s.hot()
			hot.Observe(s.cluster.Snapshot(), never)
			plan, _ := relieve(&s.config.Rescheduler.Budgets, hot)(s.situation())
			if diff := cmp.Diff(test.want, steps(plan)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(test.want) > 0 && plan.Steps[0].Why != waits {
				t.Errorf("it says %q", plan.Steps[0].Why)
			}
		})
	}
}
