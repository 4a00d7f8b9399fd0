package gang

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/core"
)

// halfFull are nodes on which pods of no gang take half of the CPU: each has room for one member of a gang that
// wants two on each, so that kube-scheduler does not ask which pods to evict.
func (p *process) halfFull(names ...string) []*corev1.Pod {
	p.Helper()
	var pods []*corev1.Pod
	for _, name := range names {
		p.set(node(name, "4"))
		pods = append(pods, members("on-"+name, 1, "2", alone, on(name))...)
	}
	p.set(objects(pods)...)
	return pods
}

// evictions are the pods that muster has evicted since it was last asked.
func (p *process) evictions() (evicted []string) {
	for _, write := range p.written() {
		if strings.HasPrefix(write, "evict ") {
			evicted = append(evicted, strings.Fields(write)[1])
		}
	}
	return evicted
}

func TestMusterLooksForVictimsWhereTheSchedulerDoesNotAsk(t *testing.T) {
	run(t, func(p *process) {
		victims := p.halfFull("a", "b")
		gang := members("g", 4, "2", ofPriority(10))
		p.set(podGroup("g", 4))
		p.set(objects(gang)...)
		p.after(time.Second)
		if got := p.filter(gang[0]); got != core.ReasonNoPlace {
			t.Fatalf("it is told %q", got)
		}
		p.after(p.limits.SeekAfter - 10*time.Millisecond)
		if diff := cmp.Diff([]string{"", "", "", ""}, p.placesOf(gang)); diff != "" {
			t.Errorf("places while the scheduler may ask (-want +got):\n%s", diff)
		}
		p.after(p.limits.Tick)
		if diff := cmp.Diff([]string{"a", "a", "b", "b"}, p.placesOf(gang)); diff != "" {
			t.Errorf("places after it (-want +got):\n%s", diff)
		}
		if got, want := p.why("g"), "waiting for 2 pods to be evicted for it"; got != want {
			t.Errorf("it waits because: %s", got)
		}
		p.after(p.limits.EvictAfter + p.limits.Tick)
		if diff := cmp.Diff([]string{"on-a-0", "on-b-0"}, p.evictions()); diff != "" {
			t.Errorf("evicted (-want +got):\n%s", diff)
		}
		p.delete(victims...)
		p.after(time.Second)
		for _, call := range p.start(gang...) {
			if call.held() || call.err != nil {
				t.Errorf("%s: held %t, error %v", call.pod.Name, call.held(), call.err)
			}
		}
	})
}

func TestMusterLooksForNoVictims(t *testing.T) {
	for name, given := range map[string]struct {
		preempt time.Duration
		low     int32
		happens func(p *process, gang []*corev1.Pod)
	}{
		"for a gang about which the scheduler has not asked": {2 * time.Second, 0, func(*process, []*corev1.Pod) {}},
		"where it is to look for none":                       {0, 0, func(p *process, gang []*corev1.Pod) { p.filter(gang[0]) }},
		"of the same priority":                               {2 * time.Second, 10, func(p *process, gang []*corev1.Pod) { p.filter(gang[0]) }},
		"when others have made room": {2 * time.Second, 0, func(p *process, gang []*corev1.Pod) {
			p.filter(gang[0])
			p.set(node("c", "4"))
			p.after(time.Second)
		}},
		"while members are missing": {2 * time.Second, 0, func(p *process, gang []*corev1.Pod) {
			p.filter(gang[0])
			p.delete(gang[3])
		}},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				p.limit(func(l *Limits) { l.SeekAfter = given.preempt })
				for _, pod := range p.halfFull("a", "b") {
					ofPriority(given.low)(pod)
					p.set(pod)
				}
				gang := members("g", 4, "2", ofPriority(10))
				p.set(podGroup("g", 4))
				p.set(objects(gang)...)
				p.after(time.Second)
				given.happens(p, gang)
				p.after(10 * time.Second)
				if got := p.evictions(); len(got) > 0 {
					t.Errorf("%v are evicted", got)
				}
			})
		})
	}
}

func TestTheSchedulerThatAsksWhomToEvictIsLeftToIt(t *testing.T) {
	run(t, func(p *process) {
		p.halfFull("a", "b")
		gang := members("g", 4, "2", ofPriority(10))
		gang[3].Spec.PreemptionPolicy = new(corev1.PreemptNever) // so that nobody is found
		p.set(podGroup("g", 4))
		p.set(objects(gang)...)
		p.after(time.Second)
		p.filter(gang[0])
		p.preempt(gang[0])
		p.set(members("g", 4, "2", ofPriority(10))[3], node("c", "1")) // victims are to be found now
		p.after(10 * time.Second)
		if got := p.evictions(); len(got) > 0 {
			t.Errorf("%v are evicted, though it was the scheduler's turn", got)
		}
		p.filter(gang[0])
		p.after(10 * time.Second)
		if got := p.evictions(); len(got) != 2 {
			t.Errorf("%v are evicted when it does not ask any more", got)
		}
	})
}

func TestARestOfAGangThatIsTooSmallIsEvictedOnceVictimsHaveGone(t *testing.T) {
	goes := func(p *process, _, low []*corev1.Pod) { p.set(leaving(low[0])) }
	for name, test := range map[string]struct {
		least  int64
		whole  bool
		change func(p *process, gang, low []*corev1.Pod)
		want   []string
	}{
		"a gang that is broken":                 {3, true, goes, []string{"low-1", "low-2"}},
		"one of a setting that leaves the rest": {3, false, goes, nil},
		"one that can spare a member":           {2, true, goes, nil},
		"one that is not broken yet":            {3, true, func(*process, []*corev1.Pod, []*corev1.Pod) {}, nil},
		"one whose preemptor is gone before":    {3, true, func(p *process, gang, _ []*corev1.Pod) { p.delete(gang...) }, nil},
		"members of a priority that is not lower": {3, true, func(p *process, _, low []*corev1.Pod) {
			ofPriority(10)(low[2])
			p.set(low[2], leaving(low[0]))
		}, []string{"low-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				p.limit(func(l *Limits) { l.EvictWhole, l.EvictAfter = test.whole, time.Hour })
				p.set(podGroup("low", test.least))
				low := members("low", 3, "4")
				for i, name := range []string{"x", "y", "z"} {
					p.set(node(name, "4"))
					on(name)(low[i])
				}
				ofPriority(1)(low[1]) // the first one costs least
				ofPriority(1)(low[2])
				p.set(objects(low)...)
				gang := members("g", 1, "3", ofPriority(10))
				p.set(podGroup("g", 1))
				p.set(objects(gang)...)
				p.after(time.Second)
				if got := p.preempt(gang[0]); got != "x: low-0" {
					t.Fatalf("%q is to be evicted", got)
				}
				test.change(p, gang, low)
				p.after(5 * time.Second)
				evicted := p.evictions()
				slices.Sort(evicted)
				if diff := cmp.Diff(test.want, evicted); diff != "" {
					t.Errorf("evicted (-want +got):\n%s", diff)
				}
				if got, want := p.total("muster_gang_preemption_victims_total"), float64(1+len(test.want)); got != want {
					t.Errorf("muster_gang_preemption_victims_total is %v, want %v", got, want)
				}
			})
		})
	}
}

func TestTheRestOfABrokenGangIsEvictedThoughVictimsGoAtOnceOrThePlanEnds(t *testing.T) {
	for name, then := range map[string]func(p *process, gang []*corev1.Pod, victim *corev1.Pod){
		"the last victim goes at once": func(p *process, gang []*corev1.Pod, victim *corev1.Pod) {
			p.delete(victim)
			p.filter(gang[0]) // notices, before the next tick
		},
		"the time of the gang is up": func(p *process, _ []*corev1.Pod, victim *corev1.Pod) {
			p.after(30*time.Second + p.limits.Timeout - p.limits.Tick/2)
			p.set(leaving(victim))
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				p.limit(func(l *Limits) { l.EvictAfter = time.Hour })
				p.set(podGroup("low", 2), node("x", "4"), node("y", "4"))
				low := members("low", 2, "4")
				on("x")(low[0])
				on("y")(low[1])
				ofPriority(1)(low[1])
				p.set(objects(low)...)
				gang := members("g", 1, "3", ofPriority(10))
				p.set(podGroup("g", 1), gang[0])
				p.after(time.Second)
				p.preempt(gang[0])
				p.refuse(errors.New("the API server is away"))
				then(p, gang, low[0])
				p.after(2 * p.limits.Tick)
				if diff := cmp.Diff([]string{"low-1"}, p.evictions()); diff != "" {
					t.Errorf("evicted (-want +got):\n%s", diff)
				}
				p.refuse(nil)
				p.after(core.EvictRetry + p.limits.Tick)
				if diff := cmp.Diff([]string{"low-1"}, p.evictions()); diff != "" {
					t.Errorf("evicted again while it is there (-want +got):\n%s", diff)
				}
				p.after(2 * core.EvictRetry)
				if got := p.evictions(); len(got) > 0 {
					t.Errorf("%v are evicted, and are going already", got)
				}
			})
		})
	}
}

func TestASchedulerThatHasNotSeenYetThatItsNominatedNodeIsFreeIsAskedToLookAgain(t *testing.T) {
	run(t, func(p *process) {
		victims := p.running(2)
		gang := members("g", 2, "3", ofPriority(10))
		p.set(podGroup("g", 2))
		p.set(objects(gang)...)
		p.after(time.Second)
		p.preempt(gang[0])
		p.delete(victims...)
		p.after(p.limits.Tick)
		refuse := func() {
			knows := gang[0].DeepCopy()
			knows.Status.NominatedNodeName = p.cluster.Assumed(gang[0].UID)
			p.Verbs.Filter(cluster.NewPod(knows), 1)
			p.Verbs.Refused(p.cluster.PendingPod(gang[0].UID), true)
		}
		refuse()
		if diff := cmp.Diff([]string{"a", "b"}, p.placesOf(gang)); diff != "" {
			t.Errorf("places (-want +got):\n%s", diff)
		}
		p.written()
		p.after(core.WakeRetry + p.limits.Tick)
		p.wrote("a while later", "wake g-0")
		p.after(core.SchedulerLag)
		refuse()
		if diff := cmp.Diff([]string{"", ""}, p.placesOf(gang)); diff != "" {
			t.Errorf("places when it must have seen (-want +got):\n%s", diff)
		}
	})
}

func TestNobodyIsEvictedForAGangThatHasLostAMemberUntilAnotherOneHasCome(t *testing.T) {
	run(t, func(p *process) {
		p.running(3)
		gang := members("g", 4, "3", ofPriority(10))
		p.set(podGroup("g", 3))
		p.set(objects(gang[:3])...)
		p.after(time.Second)
		if got := p.preempt(gang[0]); got == "" {
			t.Fatal("nobody goes for it")
		}
		p.delete(gang[1])
		p.after(p.limits.Tick)
		if got := p.preempt(gang[0]); got != "" {
			t.Errorf("%s is to be evicted for two of three", got)
		}
		p.after(p.limits.EvictAfter + p.limits.Tick)
		if got := p.evictions(); len(got) > 0 {
			t.Errorf("%v are evicted for two of three", got)
		}
		p.set(gang[3])
		p.after(p.limits.Tick)
		p.preempt(gang[3])
		p.after(p.limits.EvictAfter + p.limits.Tick)
		if got := p.evictions(); len(got) != 3 {
			t.Errorf("%v are evicted once there are three", got)
		}
	})
}
