package gang

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/core"
)

func TestAGangThatTheSchedulerRefusesByItselfKeepsRoomForASmallShareOfTheTime(t *testing.T) {
	if testing.Short() {
		t.Skip("12 hours pass in it: make test-long runs this")
	}
	for name, try := range map[string]func(p *process, pods []*corev1.Pod){
		"muster is never asked about it": func(*process, []*corev1.Pod) {},
		"muster is asked about one of two": func(p *process, pods []*corev1.Pod) {
			if pod := pods[0]; p.cluster.Assumed(pod.UID) != "" && p.cluster.PendingPod(pod.UID) != nil {
				p.filter(pod)
			}
		},
		"none of the nodes that it offers is the place": func(p *process, pods []*corev1.Pod) {
			if place := p.cluster.Assumed(pods[0].UID); place != "" {
				pod := pods[0].DeepCopy()
				pod.Status.NominatedNodeName = place // it knows of it
				p.Verbs.Filter(cluster.NewPod(pod), 1)
				p.Verbs.Refused(p.cluster.PendingPod(pod.UID), true)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				pods := members("g", 2, "1", tried)
				p.set(node("a", "8"), podGroup("g", 2))
				p.set(objects(pods)...)
				const every, hours = 10 * time.Second, 2
				looks, placed := 0, 0
				for began := time.Now(); time.Since(began) < 2*hours*time.Hour; p.after(every) {
					if time.Since(began) >= hours*time.Hour {
						looks++
						if p.cluster.Assumed(pods[1].UID) != "" {
							placed++
						}
					}
					try(p, pods)
				}
				if share := float64(placed) / float64(looks); share > 0.11 {
					t.Errorf("it keeps room for %.2f of the time", share)
				}
				denials := 0.0
				for _, count := range p.measured("muster_gang_denials_total") {
					denials += count
				}
				if denials > 100 {
					t.Errorf("it was denied %.0f times in %d hours", denials, 2*hours)
				}
			})
		})
	}
}

func TestPodsAreNotEvictedAgainForAMemberThatTheSchedulerDidNotBindThen(t *testing.T) {
	run(t, func(p *process) {
		victims := p.running(2)
		gang := members("g", 3, "3", ofPriority(10), tried)
		p.set(podGroup("g", 2))
		p.set(objects(gang[:2])...)
		p.after(time.Second)
		evicts := func() bool {
			t.Helper()
			for range 3 {
				for _, pod := range gang[:2] {
					if p.cluster.PendingPod(pod.UID) != nil && strings.Contains(p.preempt(pod), ": on-") {
						return true
					}
				}
				p.after(15 * time.Minute) // longer than it rests
			}
			return false
		}
		if !evicts() {
			t.Fatal("nobody is evicted at first")
		}
		p.delete(victims...)
		p.after(time.Second)
		call := p.start(gang[0])[0] // the other one it refuses by itself
		p.after(time.Until(p.Observer.Report()[0].Deadline) + 200*time.Millisecond)
		if call.held() {
			t.Fatal("it is held still")
		}
		if why, want := p.why("g"), "kube-scheduler does not put g-1 on "; !strings.Contains(why, want) {
			t.Errorf("it waits because: %s, want %s", why, want)
		}
		if got := p.measured("muster_gang_denials_total"); got["scheduler"] != 1 {
			t.Errorf("denials: %v", got)
		}
		p.set(objects(victims)...) // others have taken the room
		if evicts() {
			t.Error("others are evicted for it again")
		}
		p.set(gang[2])
		p.after(time.Second)
		if !evicts() {
			t.Error("nobody is evicted when another member has come")
		}
	})
}

func TestAMemberThatTheSchedulerRefusesByItselfKeepsNoOtherMemberFromItsPlace(t *testing.T) {
	for name, refuse := range map[string]func(p *process, pod *corev1.Pod){
		"it is never bound": func(*process, *corev1.Pod) {},
		"the scheduler does not offer its place": func(p *process, pod *corev1.Pod) {
			knows := pod.DeepCopy()
			knows.Status.NominatedNodeName = p.cluster.Assumed(pod.UID)
			p.Verbs.Filter(cluster.NewPod(knows), 1)
			p.Verbs.Refused(p.cluster.PendingPod(pod.UID), true)
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				gang := members("g", 3, "1", tried)
				p.set(node("a", "2"), podGroup("g", 2))
				p.set(objects(gang)...)
				p.after(core.SchedulerLag + time.Second)
				if got := p.placesOf(gang[:2]); !slices.Equal(got, []string{"a", "a"}) {
					t.Fatalf("the oldest ones have places %q", got)
				}
				p.start(gang[1])
				refuse(p, gang[0])
				p.after(p.limits.Timeout + time.Minute) // it is denied, and rests
				if got := p.placesOf(gang[1:]); !slices.Equal(got, []string{"a", "a"}) {
					t.Errorf("the others have places %q", got)
				}
				for _, call := range p.start(gang[1:]...) {
					if call.held() || call.err != nil {
						t.Errorf("%s: held %t, error %v", call.pod.Name, call.held(), call.err)
					}
				}
			})
		})
	}
}
