package gang

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/gang/core"
)

// limit has other limits be in force from now on.
func (p *process) limit(change func(*Limits)) {
	p.machine.mu.Lock()
	defer p.machine.mu.Unlock()
	change(&p.limits)
	p.machine.state.Configure(p.limits.Limits)
}

func TestALongScheduleTimeoutIsCutToTheLongestThatCounts(t *testing.T) {
	run(t, func(p *process) {
		p.limit(func(l *Limits) { l.MaxTimeout, l.Hold = 2*time.Minute, time.Hour })
		p.set(node("a", "4"), podGroup("g", 2, func(spec map[string]any) { spec["scheduleTimeoutSeconds"] = int64(2_000_000_000) }))
		pods := members("g", 2, "1")
		p.set(objects(pods)...)
		p.after(time.Second)
		call := p.start(pods[0])[0] // the other one is never bound
		p.after(2*time.Minute - 3*time.Second)
		if !call.held() {
			t.Fatalf("it is denied too early: %v", call.err)
		}
		p.after(3 * time.Second)
		if call.held() {
			t.Error("it holds its places for longer")
		}
	})
}

func TestAGroupOfMoreMembersThanMayBeIsNotValid(t *testing.T) {
	for name, given := range map[string]func(p *process) []*corev1.Pod{
		"as its PodGroup says": func(p *process) []*corev1.Pod {
			p.set(podGroup("g", 3))
			return members("g", 3, "1")
		},
		"as its members say": func(*process) []*corev1.Pod { return members("g", 3, "1", withoutObject("g", "3")) },
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				p.limit(func(l *Limits) { l.MaxMembers = 2 })
				p.set(node("a", "4"))
				pods := given(p)
				p.set(objects(pods)...)
				p.after(time.Second)
				if got := p.filter(pods[0]); got != core.ReasonInvalid {
					t.Errorf("a member is told %q", got)
				}
				field := "spec.minMember"
				if pods[0].Annotations != nil {
					field = "muster.dev/min-member"
				}
				want := field + ": 3 is more than a gang may have here, which is 2"
				if diff := cmp.Diff(want, p.why("g")); diff != "" {
					t.Errorf("why it waits (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestSoManyGroupsOfANamespaceHoldRoomAtOnce(t *testing.T) {
	run(t, func(p *process) {
		p.limit(func(l *Limits) { l.MaxHolding = 2 })
		p.set(node("a", "20"))
		var gangs [][]*corev1.Pod
		for i := range 4 {
			gang := members(fmt.Sprintf("g%d", i), 2, "1")
			if i == 3 {
				for _, pod := range gang {
					pod.Namespace = "other"
				}
			}
			gangs = append(gangs, gang)
			group := podGroup(fmt.Sprintf("g%d", i), 2)
			group.SetNamespace(gang[0].Namespace)
			p.set(group)
			p.set(objects(gang)...)
		}
		p.after(time.Second)
		holds := func() (names []string) {
			for _, g := range p.Observer.Report() {
				if g.Placed+g.Held > 0 {
					names = append(names, g.Name)
				}
			}
			return names
		}
		if diff := cmp.Diff([]string{"default/g0", "default/g1", "other/g3"}, holds()); diff != "" {
			t.Errorf("gangs with places (-want +got):\n%s", diff)
		}
		if got := p.filter(gangs[2][0]); got != core.ReasonHolding {
			t.Errorf("a member of the third is told %q", got)
		}
		p.start(gangs[0]...)
		p.after(time.Second)
		if diff := cmp.Diff([]string{"default/g1", "default/g2", "other/g3"}, holds()); diff != "" {
			t.Errorf("once the first has started (-want +got):\n%s", diff)
		}
		p.delete(gangs[1]...)
		p.delete(gangs[2]...)
		p.after(time.Second)
		if holding := p.machine.state.Holding(); len(holding) != 1 || holding["other"] != 1 {
			t.Errorf("counted as holding: %v", holding)
		}
	})
}

func TestAnEvictionIsToldOfAndCounted(t *testing.T) {
	run(t, func(p *process) {
		p.running(2)
		gang := members("g", 2, "3", ofPriority(10), tried)
		p.set(podGroup("g", 2))
		p.set(objects(gang)...)
		p.after(time.Second)
		p.preempt(gang[0])
		p.after(2 * time.Second) // the scheduler evicts nobody
		var words []string
		for _, told := range p.Publisher.news.untold() {
			words = append(words, fmt.Sprintf("%s %s %s: %s", told.schedulerName, told.reason, told.pod.Name, told.why))
		}
		want := []string{
			"default-scheduler Preempted on-a-0: evicted from node a to make room for gang default/g",
			"default-scheduler Preempted on-b-0: evicted from node b to make room for gang default/g",
		}
		if diff := cmp.Diff(want, slices.Sorted(slices.Values(words))); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}
