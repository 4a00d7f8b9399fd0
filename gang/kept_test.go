package gang

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/record"
)

// wantStages is how many members of a gang are how far.
func (p *process) wantStages(when string, want map[string]int) {
	p.Helper()
	got := map[string]int{}
	for _, member := range p.Observer.About(named("g").NamespacedName)[0].Members {
		got[member.Stage]++
	}
	if diff := cmp.Diff(want, got); diff != "" {
		p.Errorf("%s (-want +got):\n%s", when, diff)
	}
}

// takes says how long a gang may take.
func takes(seconds int64) func(spec map[string]any) {
	return func(spec map[string]any) { spec["scheduleTimeoutSeconds"] = seconds }
}

func TestAMemberKeepsItsPlaceWhenTheTimeOfItsCallIsUp(t *testing.T) {
	run(t, func(p *process) {
		pods := members("g", 3, "1")
		p.set(node("a", "4"), node("b", "4"), podGroup("g", 3, takes(60)))
		p.set(objects(pods)...)
		p.after(time.Second)
		calls := p.start(pods[:2]...)
		p.after(28 * time.Second)
		for _, call := range calls {
			if call.held() || !errors.Is(call.err, core.ErrKept) {
				t.Errorf("%s is held: %t, error %v", call.pod.Name, call.held(), call.err)
			}
		}
		p.wantStages("when the time of the calls is up", map[string]int{"kept": 2, "placed": 1})
		for _, pod := range pods {
			if place := p.cluster.Assumed(pod.UID); place == "" || p.filter(pod) != place {
				t.Errorf("%s counts on %q, and filter answers another node", pod.Name, place)
			}
		}
		p.after(6 * time.Second)
		again := p.bind(pods[0], p.cluster.Assumed(pods[0].UID))
		p.wantHeld("when it is bound again", true, again)
		p.after(26 * time.Second)
		if again.held() || !errors.Is(again.err, core.ErrTimeout) {
			t.Errorf("when the time of the gang is up, the call is held: %t, error %v", again.held(), again.err)
		}
		p.wantStages("then", map[string]int{"pending": 3})
		p.wantRecords()
	})
}

func TestAGangStartsThoughItsMembersAreNeverHeldAtOnce(t *testing.T) {
	run(t, func(p *process) {
		const count, every = 10, 20 * time.Second // two are held at a time at most
		pods := members("g", count, "1")
		p.set(node("a", "16"), podGroup("g", count, takes(300)))
		p.set(objects(pods)...)
		p.after(time.Second)
		for i, pod := range pods {
			p.wantRecords()
			p.start(pod)
			if held := p.Observer.Report()[0].Held; held != i+1 && i < count-1 {
				t.Errorf("after %d, %d have come", i+1, held)
			}
			p.after(every)
		}
		p.wantRecords(record.Record{Members: count, MinMember: count})
		p.wantStages("when the last one has come", map[string]int{"due": count - 2, "bound": 2})
		for i, pod := range pods[:count-2] {
			p.wantHeld(fmt.Sprintf("after %d more", i), false, p.start(pod)...)
		}
		p.wantStages("in the end", map[string]int{"bound": count})
		p.wantRecords(record.Record{Members: count, MinMember: count})
	})
}

func TestAMemberThatIsLetGoAndDoesNotComeIsPlannedAnew(t *testing.T) {
	run(t, func(p *process) {
		pods := members("g", 2, "1")
		p.set(node("a", "4"), podGroup("g", 2, takes(40)))
		p.set(objects(pods)...)
		p.after(time.Second)
		p.start(pods[0])
		p.after(30 * time.Second)
		p.start(pods[1])
		p.wantStages("when the other one comes", map[string]int{"due": 1, "bound": 1})
		p.after(39 * time.Second)
		p.wantStages("before its time is up", map[string]int{"due": 1, "bound": 1})
		p.after(2 * time.Second)
		p.wantStages("when its time is up", map[string]int{"placed": 1, "bound": 1}) // a new plan
		p.wantHeld("then", false, p.start(pods[0])...)
		p.wantStages("in the end", map[string]int{"bound": 2})
	})
}

func TestAMemberThatComesToAnotherNodeIsHeldThereFirst(t *testing.T) {
	run(t, func(p *process) {
		pods := members("g", 2, "1")
		p.set(node("a", "4"), podGroup("g", 2, takes(200)))
		p.set(objects(pods)...)
		p.after(time.Second)
		p.start(pods[0])
		p.after(30 * time.Second)
		p.set(node("b", "4"))
		p.assume(p.cluster.PendingPod(pods[0].UID), "b")
		p.Verbs.Placed(pods[0].UID, "b")
		other := p.start(pods[1])[0]
		p.wantHeld("while one has not come to its place", true, other)
		p.wantHeld("when it has", false, other, p.bind(pods[0], "b"))
	})
}

func TestTheNominationOfAMemberThatIsToComeAgainIsRestored(t *testing.T) {
	run(t, func(p *process) {
		pods := members("g", 2, "1")
		p.set(node("a", "4"), podGroup("g", 2, takes(200)))
		p.set(objects(pods)...)
		p.after(time.Second)
		p.start(pods[0])
		p.after(30 * time.Second)
		p.written()
		for _, pod := range []*corev1.Pod{pods[0], pods[1]} { // as kube-scheduler does when a bind call has failed
			p.set(pod)
		}
		p.after(time.Second)
		if diff := cmp.Diff([]string{"nominate g-0 a"}, p.written()); diff != "" {
			t.Errorf("writes (-want +got):\n%s", diff)
		}
	})
}

func TestMembersKeepTheirPlacesWhenTheSchedulerDies(t *testing.T) {
	for name, test := range map[string]struct {
		then func(p *process, pods []*corev1.Pod)
		want map[string]int
	}{
		"another one binds them": {func(p *process, pods []*corev1.Pod) {
			calls := p.start(pods[1:]...)
			p.wantHeld("while one has not come again", true, calls...)
			p.wantHeld("when it has", false, append(calls, p.start(pods[0])...)...)
		}, map[string]int{"bound": 3}},
		"there is no other one in the time of the gang": {func(p *process, _ []*corev1.Pod) {
			p.after(60 * time.Second)
		}, map[string]int{"pending": 3}},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				pods := members("g", 3, "1")
				p.set(node("a", "1"), node("b", "1"), node("c", "1"), podGroup("g", 3, takes(60)))
				p.set(objects(pods)...)
				p.after(time.Second)
				calls := p.start(pods[:2]...)
				places := map[string]string{}
				for _, pod := range pods {
					places[pod.Name] = p.cluster.Assumed(pod.UID)
				}
				for _, call := range calls {
					call.cancel()
					if call.held() || !errors.Is(call.err, context.Canceled) {
						t.Errorf("the call for %s is held: %t, error %v", call.pod.Name, call.held(), call.err)
					}
				}
				p.wantStages("when the calls have ended", map[string]int{"placed": 3}) // before anything is planned again
				for _, pod := range pods {
					if got := p.cluster.Assumed(pod.UID); got == "" || got != places[pod.Name] {
						t.Errorf("%s counts on %q, and did on %q", pod.Name, got, places[pod.Name])
					}
				}
				test.then(p, pods)
				p.wantStages("in the end", test.want)
			})
		})
	}
}
