package gang

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/gang/core"
)

// promised is a pod of no gang that kube-scheduler has nominated to a node.
func promised(cpu, node string, priority int32) *corev1.Pod {
	return members("promised", 1, cpu, alone, tried, ofPriority(priority), nominatedTo(node))[0]
}

func nominatedTo(node string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Status.NominatedNodeName = node }
}

func TestAGangLeavesTheRoomThatIsPromisedToOthers(t *testing.T) {
	for _, test := range []struct {
		name     string
		promised *corev1.Pod
		starts   bool
	}{
		{"to a pod of higher priority", promised("2", "a", 6), false},
		{"to one of equal priority", promised("2", "a", 5), false},
		{"but not more room than that", promised("1", "b", 6), true},
		{"not to one of lower priority", promised("2", "a", 4), true},
		{"not on a node that is gone", promised("2", "gone", 6), true},
	} {
		t.Run(test.name, func(t *testing.T) {
			run(t, func(p *process) {
				gang := members("g", 2, "2", ofPriority(5))
				p.set(node("a", "4"), node("b", "1"), test.promised, podGroup("g", 2))
				p.set(objects(gang)...)
				p.after(time.Second)
				if got := p.cluster.Assumed(gang[0].UID) != ""; got != test.starts {
					t.Errorf("it has places: %t; it waits because: %s", got, p.why("g"))
				}
			})
		})
	}
}

func TestAGangIsPlannedAnewWhenAPromiseToOthersChanges(t *testing.T) {
	for name, then := range map[string]func(p *process){
		"it is taken back":                 func(p *process) { p.set(promised("2", "", 6)) },
		"it is made on another node":       func(p *process) { p.set(promised("2", "b", 6)) },
		"the pod goes":                     func(p *process) { p.delete(promised("2", "a", 6)) },
		"the pod is bound to another node": func(p *process) { pod := promised("2", "a", 6); on("b")(pod); p.set(pod) },
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				gang := members("g", 2, "2", ofPriority(5))
				p.set(node("a", "4"), node("b", "1"), promised("2", "a", 6), podGroup("g", 2))
				p.set(objects(gang)...)
				p.after(time.Minute)
				if got := p.filter(gang[0]); got != core.ReasonNoPlace {
					t.Fatalf("the scheduler is told %q", got)
				}
				p.after(10 * time.Second)
				then(p)
				p.after(time.Second)
				for _, pod := range gang {
					if got := p.filter(pod); got != "a" {
						t.Errorf("the scheduler is told %q", got)
					}
				}
			})
		})
	}
}

func TestWhatTheSchedulerNominatedForAGangIsNotInItsWay(t *testing.T) {
	run(t, func(p *process) {
		gang := members("g", 2, "2", nominatedTo("a"))
		p.set(node("a", "4"), podGroup("g", 2))
		p.set(objects(gang)...)
		p.after(time.Second)
		if diff := cmp.Diff([]string{"a", "a"}, p.placesOf(gang)); diff != "" {
			t.Errorf("places (-want +got):\n%s", diff)
		}
	})
}

func TestVictimsOfAGangMakeRoomBesideWhatIsPromisedToOthers(t *testing.T) {
	run(t, func(p *process) {
		p.running(3, ofPriority(1))
		cheap := members("cheap", 1, "4", alone, on("d"))[0]
		p.set(node("d", "4"), cheap, promised("4", "d", 10), podGroup("g", 2))
		gang := members("g", 2, "3", ofPriority(10), tried)
		p.set(objects(gang)...)
		p.after(time.Second)
		p.preempt(gang[0])
		for _, place := range p.placesOf(gang) {
			if place == "d" || place == "" {
				t.Errorf("a member counts on %q", place)
			}
		}
	})
}

func TestAGangGivesWayOnlyIfThatHelpsBesideWhatIsPromisedToOthers(t *testing.T) {
	run(t, func(p *process) {
		low := members("low", 2, "2")
		p.set(node("a", "8"), podGroup("low", 2), promised("4", "a", 10))
		p.set(objects(low)...)
		p.after(time.Second)
		high := members("high", 1, "5", alone, ofPriority(5))[0]
		p.set(high)
		givesWay := func() bool {
			return p.Verbs.GiveWay(p.cluster.PendingPod(high.UID), p.machine.view.profiles.Of(corev1.DefaultSchedulerName))
		}
		if givesWay() || p.cluster.Assumed(low[0].UID) != "a" {
			t.Error("it gives way in vain")
		}
		p.set(promised("4", "", 10))
		if !givesWay() {
			t.Error("it does not give way")
		}
	})
}
