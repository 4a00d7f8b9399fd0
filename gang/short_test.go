package gang

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/record"
)

// startsShort has a gang of two start. One member is bound, and the other one loses its place to a rival.
func (p *process) startsShort() (bound, left *corev1.Pod) {
	p.Helper()
	pods := members("g", 2, "1", gated)
	p.set(podGroup("g", 2), node("a", "1"), node("b", "1"))
	p.set(objects(pods)...)
	p.after(time.Second)
	p.wrote("at first", "lift g-0", "lift g-1", "nominate g-0", "nominate g-1")
	p.bindTo(p.cluster.Assumed(pods[0].UID), pods[0])
	at := p.cluster.Assumed(pods[1].UID)
	p.set(rival("other", "1"))
	p.bindTo(at, rival("other", "1"))
	p.refuseIt(pods[1])
	p.after(time.Second)
	if written := strings.Join(p.written(), " "); strings.Contains(written, "evict") {
		p.Errorf("at once, %s", written)
	}
	return pods[0], pods[1]
}

// replace has a controller make a member again.
func (p *process) replace(pod *corev1.Pod) {
	p.Helper()
	fresh := members("fresh", 1, "1", gated)[0]
	fresh.Labels = pod.Labels
	p.set(fresh)
}

func TestAGangThatStaysShortIsBrokenUp(t *testing.T) {
	for _, test := range []struct {
		name  string
		after time.Duration
		then  func(p *process, bound, left *corev1.Pod)
		want  []string
	}{
		{"after its time", time.Minute, func(*process, *corev1.Pod, *corev1.Pod) {}, []string{"evict g-0"}},
		{"though the other one has a place, where the scheduler refuses it", time.Minute, func(p *process, _, left *corev1.Pod) {
			p.set(node("c", "1"))
			for range 25 {
				p.after(time.Second)
				p.refuseIt(left)
				p.after(100 * time.Millisecond)
				again := p.latest(left).DeepCopy()
				again.Status.Conditions = nil
				p.set(again)
			}
		}, []string{"evict g-0"}},
		{"not when nobody wants that", 0, func(*process, *corev1.Pod, *corev1.Pod) {}, nil},
		{"not once it is whole", time.Minute, func(p *process, _, left *corev1.Pod) { p.bindTo("b", left) }, nil},
		{"not when less is asked for", time.Minute, func(p *process, _, _ *corev1.Pod) { p.set(podGroup("g", 1)) }, nil},
		{"not when nobody runs", time.Minute, func(p *process, bound, _ *corev1.Pod) { p.delete(bound) }, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			runAhead(t, func(p *process) {
				p.limit(func(l *Limits) { l.BreakAfter, l.WaitWhenShort = test.after, true })
				bound, left := p.startsShort()
				p.after(30 * time.Second)
				p.wantEvicted("before its time")
				test.then(p, bound, left)
				p.after(time.Minute)
				p.wantEvicted("then", test.want...)
			})
		})
	}
}

// wantEvicted fails the test unless these were evicted since it was last asked.
func (p *process) wantEvicted(when string, want ...string) {
	p.Helper()
	var got []string
	for _, name := range p.evictions() {
		got = append(got, "evict "+name)
	}
	if len(got) != len(want) || len(want) == 1 && got[0] != want[0] {
		p.Errorf("%s %v are evicted, want %v", when, got, want)
	}
}

func TestAGangThatWasBrokenUpStartsWhole(t *testing.T) {
	runAhead(t, func(p *process) {
		p.limit(func(l *Limits) { l.BreakAfter, l.WaitWhenShort = time.Minute, true })
		bound, _ := p.startsShort()
		p.after(62 * time.Second)
		p.wantEvicted("after its time", "evict g-0")
		p.replace(bound)
		p.after(10 * time.Second)
		p.wrote("while there is no room")
		p.delete(bound)
		p.after(10 * time.Second)
		p.wrote("when the member has gone, with room for one of two")
		p.delete(rival("other", "1"))
		p.after(10 * time.Second)
		if got := len(p.recorded()); got != 2 {
			t.Errorf("with room for both, %d starts are recorded, want another one; it waits because: %s", got, p.why("g"))
		}
	})
}

func TestNobodyJoinsMembersThatAreAboutToBeEvicted(t *testing.T) {
	runAhead(t, func(p *process) {
		p.limit(func(l *Limits) { l.BreakAfter, l.WaitWhenShort = time.Minute, true })
		bound, left := p.startsShort()
		p.refuse(errors.New("the API server is away"))
		p.after(61 * time.Second)
		p.wantEvicted("after its time", "evict g-0")
		p.delete(rival("other", "1"))
		p.after(5 * time.Second)
		if on := p.cluster.Assumed(left.UID); on != "" {
			t.Errorf("the other one has the place %s beside one that is to be evicted", on)
		}
		want := "waiting for 1 of its members to be evicted: too few of them run"
		if got := p.why("g"); got != want {
			t.Errorf("it waits because: %s, want: %s", got, want)
		}
		p.refuse(nil)
		p.after(core.EvictRetry)
		p.delete(bound)
		p.replace(bound)
		p.after(5 * time.Second)
		if got := len(p.recorded()); got != 2 {
			t.Errorf("when it is gone, %d starts are recorded, want another one; it waits because: %s", got, p.why("g"))
		}
	})
}

func TestAGangThatWasWholeOnceIsNotBrokenUp(t *testing.T) {
	runAhead(t, func(p *process) {
		p.limit(func(l *Limits) { l.BreakAfter, l.WaitWhenShort = time.Minute, true })
		pods := members("g", 3, "1", gated)
		p.set(podGroup("g", 2), node("a", "2"), pods[0], pods[1])
		p.after(time.Second)
		p.bindTo("a", pods[:2]...)
		p.after(time.Second)
		p.delete(pods[1])
		other := rival("other", "1")
		on("a")(other)
		p.set(other, pods[2])
		p.after(5 * time.Minute)
		p.wantEvicted("though it lacks a member")
	})
}

func TestAGangThatIsHeldUntilQuorumIsNotBrokenUp(t *testing.T) {
	run(t, func(p *process) {
		p.limit(func(l *Limits) { l.BreakAfter = time.Minute })
		pods := members("g", 2, "1")
		p.set(podGroup("g", 2), node("a", "1"), node("b", "1"))
		p.set(objects(pods)...)
		p.after(time.Second)
		p.permit(pods...)
		at := p.cluster.Assumed(pods[1].UID)
		p.bound(pods[0])
		p.notBound(pods[1])
		other := rival("other", "1")
		on(at)(other)
		p.set(other)
		p.after(5 * time.Minute)
		p.wantEvicted("in a profile that is asked")
	})
}

func TestAGangThatWasSatisfiedOnceIsNotBrokenUpByTheNextProcess(t *testing.T) {
	runAhead(t, func(p *process) {
		p.limit(func(l *Limits) { l.BreakAfter, l.WaitWhenShort = time.Minute, true })
		pods := members("g", 2, "1", gated)
		p.set(node("a", "1"), recorded(onceSatisfied(), record.Record{Members: 2, MinMember: 2, Time: time.Now(), Bound: true}))
		on("a")(pods[0])
		pods[0].Spec.SchedulingGates = nil
		p.set(objects(pods)...)
		p.after(5 * time.Minute)
		p.wantEvicted("though one is bound")
	})
}
