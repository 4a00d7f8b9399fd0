package gang

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/gang/core"
)

func TestNoGangIsHalfPlannedWhileTwoCompete(t *testing.T) {
	run(t, func(p *process) {
		p.set(node("a", "4"), podGroup("one", 3), podGroup("two", 3))
		one, two := members("one", 3, "1"), members("two", 3, "1")
		for i := range one { // interleaved
			p.set(one[i], two[i])
		}
		p.after(time.Second)
		p.start(one...)
		if got := p.filter(two[0]); got != core.ReasonNoPlace {
			t.Errorf("a member of the second gang is told %q", got)
		}
		for _, pod := range one {
			p.delete(pod)
		}
		p.after(time.Second)
		for _, call := range p.start(two...) {
			if call.held() || call.err != nil {
				t.Errorf("%s: held, or error %v", call.pod.Name, call.err)
			}
		}
	})
}

func TestAPlanGivesWayToHigherPriorityUntilItStarts(t *testing.T) {
	tests := []struct {
		name  string
		then  func(p *process, low []*corev1.Pod, calls []*call) (higher *corev1.Pod)
		gives bool
	}{
		{"to a gang", func(p *process, _ []*corev1.Pod, _ []*call) *corev1.Pod {
			high := members("high", 2, "2", ofPriority(5))
			p.set(podGroup("high", 2), high[0], high[1])
			p.after(time.Second)
			return high[0]
		}, true},
		{"not to one whose member of higher priority is gone", func(p *process, _ []*corev1.Pod, _ []*call) *corev1.Pod {
			mixed := members("mixed", 3, "2")
			mixed[2].Spec.Priority = new(int32(5))
			p.set(podGroup("mixed", 2))
			p.set(objects(mixed)...)
			p.delete(mixed[2]) // before anything is planned
			p.after(time.Second)
			return mixed[0]
		}, false},
		{"not to one of equal priority", func(p *process, _ []*corev1.Pod, _ []*call) *corev1.Pod {
			equal := members("equal", 2, "2")
			p.set(podGroup("equal", 2), equal[0], equal[1])
			p.after(time.Second)
			return equal[0]
		}, false},
		{"not once it has started", func(p *process, low []*corev1.Pod, _ []*call) *corev1.Pod {
			p.start(low[2])
			high := members("high", 2, "2", ofPriority(5))
			p.set(podGroup("high", 2), high[0], high[1])
			p.after(time.Second)
			return high[0]
		}, false},
		{"not to one that asks for more than there would be all the same", func(p *process, _ []*corev1.Pod, _ []*call) *corev1.Pod {
			high := members("high", 2, "2", ofPriority(5))
			asks := func(spec map[string]any) { spec["minResources"] = map[string]any{"cpu": "9"} }
			p.set(podGroup("high", 2, asks), high[0], high[1])
			p.after(time.Second)
			return high[0]
		}, false},
		{"to one that asks for as much as there would be", func(p *process, _ []*corev1.Pod, _ []*call) *corev1.Pod {
			high := members("high", 2, "2", ofPriority(5))
			asks := func(spec map[string]any) { spec["minResources"] = map[string]any{"cpu": "4"} }
			p.set(podGroup("high", 2, asks), high[0], high[1])
			p.after(time.Second)
			return high[0]
		}, true},
		{"not to one that would not fit all the same", func(p *process, _ []*corev1.Pod, _ []*call) *corev1.Pod {
			high := members("high", 2, "9", ofPriority(5))
			p.set(podGroup("high", 2), high[0], high[1])
			p.after(time.Second)
			return high[0]
		}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			run(t, func(p *process) {
				low := members("low", 3, "1")
				p.set(node("a", "4"), podGroup("low", 3))
				p.set(objects(low)...)
				p.after(time.Second)
				calls := p.start(low[:2]...)
				higher := test.then(p, low, calls)
				if got := p.filter(higher); (got == "a") != test.gives {
					t.Errorf("the other one is told %q", got)
				}
				if test.gives && (calls[0].held() || !errors.Is(calls[0].err, core.ErrOutranked)) {
					t.Errorf("the call of the lower one is held: %t, error %v", calls[0].held(), calls[0].err)
				}
				if !test.gives && errors.Is(calls[0].err, core.ErrOutranked) {
					t.Error("the lower one has given way all the same")
				}
				for _, call := range calls {
					call.cancel()
				}
			})
		})
	}
}

func TestAPlanGivesWayToASinglePod(t *testing.T) {
	run(t, func(p *process) {
		low := members("low", 2, "2")
		single := members("single", 1, "1", ofPriority(5), func(pod *corev1.Pod) { pod.Labels = nil })[0]
		p.set(node("a", "4"), podGroup("low", 2), single)
		p.set(objects(low)...)
		p.after(time.Second)
		if got := p.cluster.Assumed(low[0].UID); got != "a" {
			t.Fatalf("the gang counts on %q", got)
		}
		store := p.machine.view.profiles.Of(corev1.DefaultSchedulerName)
		if !p.Verbs.GiveWay(p.cluster.PendingPod(single.UID), store) {
			t.Error("the plan does not give way")
		}
		if p.Verbs.GiveWay(p.cluster.PendingPod(single.UID), store) {
			t.Error("there is nothing left to give way, and something does")
		}
	})
}

func TestEvictionsThatHarmAGangAreKnown(t *testing.T) {
	run(t, func(p *process) {
		running, starting := members("running", 3, "1"), members("starting", 2, "1")
		p.set(node("a", "8"), podGroup("running", 2), podGroup("starting", 2))
		p.set(objects(running)...)
		p.set(objects(starting)...)
		p.after(time.Second)
		p.start(running...)
		call := p.start(starting[0])[0]
		for _, test := range []struct {
			victims []types.UID
			want    core.Harm
		}{
			{[]types.UID{"somebody"}, core.NoHarm},
			{[]types.UID{"running-0"}, core.NoHarm},
			{[]types.UID{"running-0", "running-1"}, core.BreaksGang},
			{[]types.UID{"somebody", "starting-0"}, core.BreaksStart},
		} {
			if got := p.Verbs.Harms(map[string][]types.UID{"a": test.victims})["a"]; got != test.want {
				t.Errorf("harm of evicting %v: %d, want %d", test.victims, got, test.want)
			}
		}
		call.cancel()
	})
}

func TestASinglePodHasTheSameEvictedOfGangsAsAGang(t *testing.T) {
	for _, test := range []struct {
		name  string
		given func(p *process)
		want  core.Harm // of the eviction of g-0
	}{
		{"one that a fault left half bound, and whose rest has places", func(p *process) {
			p.set(podGroup("g", 4))
			p.set(objects(members("g", 2, "1", on("a")))...)
			p.set(objects(members("g", 4, "1")[2:])...)
		}, core.BreaksStart},
		{"one that a fault left half bound, and whose rest has no place", func(p *process) {
			p.set(podGroup("g", 4))
			p.set(objects(members("g", 2, "1", on("a")))...)
			p.set(objects(members("g", 4, "9")[2:])...)
		}, core.NoHarm},
		{"one with a member too many, and none is going", func(p *process) {
			p.set(podGroup("g", 2))
			p.set(objects(members("g", 3, "1", on("a")))...)
		}, core.NoHarm},
		{"one with a member too many, which is going", func(p *process) {
			p.set(podGroup("g", 2))
			pods := members("g", 3, "1", on("a"))
			p.set(pods[0], pods[1], leaving(pods[2]))
		}, core.BreaksGang},
		{"one whose member is going", func(p *process) {
			p.set(podGroup("g", 2))
			pods := members("g", 2, "1", on("a"))
			p.set(leaving(pods[0]), pods[1])
		}, core.NoHarm},
		{"a role of a gang that runs, while another role is about to be completed", func(p *process) {
			for _, name := range []string{"g", "other"} {
				group := podGroup(name, 2)
				annotate(group, v1alpha1.AnnotationGroups, `["default/g", "default/other"]`)
				p.set(group)
			}
			p.set(objects(members("g", 3, "1", on("a")))...)
			p.set(objects(members("other", 2, "1"))...)
		}, core.BreaksStart},
	} {
		t.Run(test.name, func(t *testing.T) {
			run(t, func(p *process) {
				p.set(node("a", "8"))
				test.given(p)
				p.after(time.Second)
				if got := p.Verbs.Harms(map[string][]types.UID{"a": {"g-0"}})["a"]; got != test.want {
					t.Errorf("harm %d, want %d", got, test.want)
				}
			})
		})
	}
}

func TestAGangThatHasGivenWayIsNotPlannedAtOnce(t *testing.T) {
	run(t, func(p *process) {
		low, high := members("low", 2, "1"), members("high", 2, "1", ofPriority(5))
		p.set(node("a", "2"), podGroup("low", 2), podGroup("high", 2))
		p.set(objects(low)...)
		p.after(time.Second)
		p.set(objects(high)...)
		p.after(time.Second)
		p.set(node("b", "2"))
		if got := p.filter(low[0]); got != core.ReasonNoPlace {
			t.Errorf("soon after that a member is told %q", got)
		}
		p.after(p.limits.DenyTTL)
		if got := p.filter(low[0]); got != "b" {
			t.Errorf("later it is told %q", got)
		}
	})
}
