package nomination

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// savingLimits nominate what saves 2 ms.
func savingLimits() bounds {
	limits := testLimits()
	limits.MinSaving = 2 * time.Millisecond
	return limits
}

// bigNodes have room for more pods than there are.
func (p *process) bigNodes() {
	for i := range 10 { // for 110 pods each
		set(p, p.cluster, newNode(fmt.Sprint("node-", i), "1000"))
	}
}

// slowScheduler has it known that the scheduler takes long for a pod.
func (p *process) slowScheduler() {
	p.Nominator.mu.Lock()
	defer p.Nominator.mu.Unlock()
	for range gapsNeeded {
		p.course.saving.others.add(idle/2, p.clock.Now())
	}
}

// come has a number of pods come.
func (p *process) come(name string, pods int) (names []string) {
	for i := range pods {
		names = append(names, fmt.Sprintf("%s-%03d", name, i))
		set(p, p.cluster, newPod(names[i], "1m"))
	}
	return names
}

// schedule lets the scheduler take pods up and bind them, each in some time, and returns how many were
// nominated then.
func (p *process) schedule(names []string, each time.Duration) (nominated int) {
	p.Helper()
	for i, name := range names {
		<-time.After(each)
		pod := newPod(name, "1m")
		if about, _ := p.About(pod.UID); about.Stage == standing.String() {
			nominated++
		}
		p.Take(pod.UID)
		pod.Spec.NodeName = fmt.Sprint("node-", i%10)
		set(p, p.cluster, pod)
		synctest.Wait()
	}
	return nominated
}

// scheduleAsNominated is schedule by a scheduler that needs 1 ms for a pod that is nominated, and 10 for another one.
func (p *process) scheduleAsNominated(names []string) (nominated int) {
	p.Helper()
	for _, name := range names {
		each := 10 * time.Millisecond
		if about, _ := p.About(types.UID(name)); about.Stage == standing.String() {
			each = time.Millisecond
		}
		nominated += p.schedule([]string{name}, each)
	}
	return nominated
}

// backlog has pods come that wait for the scheduler to start, and returns how many it finds nominated.
func (p *process) backlog(name string, pods int) (nominated int) {
	p.Helper()
	names := p.come(name, pods)
	<-time.After(3 * time.Second)
	return p.schedule(names, time.Millisecond)
}

// live has pods come one by one. The scheduler takes each at once, and needs some time for it.
func (p *process) live(name string, pods int, each time.Duration) {
	p.Helper()
	for i := range pods {
		p.schedule(p.come(fmt.Sprint(name, i), 1), each)
	}
}

func TestPodsAreNominatedAsLongAsItSavesEnough(t *testing.T) {
	const pods = 200
	for name, test := range map[string]struct {
		steps func(p *process)
		want  int
	}{
		"it is not known":      {func(*process) {}, 0},
		"it does":              {func(p *process) { p.live("live", 20, 5*time.Millisecond) }, pods},
		"it does not":          {func(p *process) { p.live("live", 20, 1500*time.Microsecond) }, 0},
		"it does not any more": {func(p *process) { p.live("live", 20, 5*time.Millisecond); p.live("more", 40, time.Millisecond) }, 0},
		"it does again":        {func(p *process) { p.live("live", 20, time.Millisecond); p.live("more", 40, 5*time.Millisecond) }, pods},
		"it does, by more than a scheduler rests": {
			func(p *process) { p.schedule(p.come("slow", 60)[:gapsNeeded+1], idle+10*time.Millisecond) }, pods,
		},
		"few pods come, each after a while": {func(p *process) { p.live("live", 20, idle+10*time.Millisecond) }, 0},
		"pods of others take the time": {func(p *process) {
			for i := range 20 {
				<-time.After(10 * time.Millisecond)
				p.Take(types.UID(fmt.Sprint("other-", i)))
				p.live(fmt.Sprint("live", i), 1, time.Millisecond)
			}
		}, 0},
		"with one it takes almost as long": {func(p *process) {
			p.live("first", 20, 5*time.Millisecond)
			p.schedule(p.nominatedNames("before", 20), 4*time.Millisecond)
			p.live("live", 20, 5*time.Millisecond)
		}, 0},
		"what was long ago says nothing": {func(p *process) { p.live("live", 20, 5*time.Millisecond); <-time.After(2 * oldGap) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, savingLimits(), func(p *process) {
				p.bigNodes()
				test.steps(p)
				if got := p.backlog("p", pods); got != test.want {
					t.Errorf("%d of %d pods are nominated, want %d", got, pods, test.want)
				}
			})
		})
	}
}

// nominatedNames are pods that wait, nominated.
func (p *process) nominatedNames(name string, pods int) []string {
	names := p.come(name, pods)
	<-time.After(3 * time.Second)
	return names
}

// An unknown scheduler is left some pods, while it is at work.
// Where the scheduler gets to a pod by itself, that the pod waits here says nothing.
func TestOfAPodThatIsLeftToTheSchedulerNothingIsSaid(t *testing.T) {
	run(t, savingLimits(), func(p *process) {
		p.bigNodes()
		p.come("few", 1)
		<-time.After(time.Second)
		if about, known := p.About("few-000"); known {
			t.Errorf("it is said: %+v", about)
		}
		p.slowScheduler()
		p.come("many", 100)
		<-time.After(time.Second)
		if _, known := p.About("few-000"); !known {
			t.Error("of a pod that is nominated nothing is said")
		}
	})
}

func TestASchedulerThatIsAtWorkIsLeftSomePodsFirst(t *testing.T) {
	run(t, savingLimits(), func(p *process) {
		p.bigNodes()
		p.schedule(p.nominatedNames("first", 1), time.Millisecond)
		names := p.come("p", 100)
		if got := p.schedule(names[:gapsNeeded-1], 5*time.Millisecond); got != 0 {
			t.Errorf("%d pods are nominated before it is known how long others take", got)
		}
		p.schedule(names[gapsNeeded-1:gapsNeeded], 5*time.Millisecond)
		p.come("next", 1) // something happens
		<-time.After(time.Second)
		if got := p.schedule(names[gapsNeeded:], time.Millisecond); got != len(names)-gapsNeeded {
			t.Errorf("%d of %d pods are nominated after", got, len(names)-gapsNeeded)
		}
	})
}

// A scheduler that starts takes waiting pods in any order.
func TestNominationsAreGivenUpWhenTheSchedulerTakesOtherPods(t *testing.T) {
	limits := savingLimits()
	limits.MaxAhead = 200
	run(t, limits, func(p *process) {
		p.bigNodes()
		p.live("live", 20, 10*time.Millisecond)
		names := p.nominatedNames("p", 600)
		slices.Reverse(names)
		p.schedule(names[:turnsKept], 10*time.Millisecond)
		<-time.After(time.Second)
		report := p.Report()
		if report.Stages[standing.String()] != 0 || report.Ended[Astray] < 150 {
			t.Errorf("%d nominations stand, %d were given up", report.Stages[standing.String()], report.Ended[Astray])
		}
		if got := p.schedule(names[turnsKept:380], 10*time.Millisecond); got != 0 {
			t.Errorf("%d pods are nominated while more wait than can be", got)
		}
		// Too few are taken after the last 200 are nominated to tell that a nomination saves nothing here.
		p.schedule(names[380:400+gapsNeeded/2], 10*time.Millisecond)
		<-time.After(5 * time.Second) // the pods that were given up rest
		last := names[400+gapsNeeded/2:]
		if got := p.schedule(last, 10*time.Millisecond); got != len(last) {
			t.Errorf("%d of the last %d pods are nominated", got, len(last))
		}
	})
}

// With offload it tries a pod on many nodes at next to no cost, so that nominations hold up nobody.
func TestWithOffloadNominationsAreKeptInWhateverOrderTheSchedulerTakesPods(t *testing.T) {
	limits := savingLimits()
	limits.MaxAhead, limits.offload = 200, true
	run(t, limits, func(p *process) {
		p.bigNodes()
		p.live("live", 20, 10*time.Millisecond)
		names := p.nominatedNames("p", 600)
		planned := p.Report().Stages[standing.String()]
		if planned < 100 { // a batch or two may have found that nodes had changed
			t.Errorf("%d nominations stand, and 200 may", planned)
		}
		slices.Reverse(names)
		if got := p.scheduleAsNominated(names); got < planned {
			t.Errorf("%d pods are nominated when they are taken up, and %d were", got, planned)
		}
		if got := p.scheduleAsNominated(p.nominatedNames("more", 50)); got != 50 {
			t.Errorf("%d of 50 pods that came later are nominated", got)
		}
		if ended := p.Report().Ended; ended[Astray] != 0 {
			t.Errorf("%d nominations were given up", ended[Astray])
		}
	})
}

// Pods that are gated are placed whatever that saves, and keep their nominations: the scheduler does not see them before.
func TestGatedPodsArePlacedWhateverItSaves(t *testing.T) {
	limits := savingLimits()
	limits.MinSaving, limits.gates = time.Hour, config.GatesUntilPlace
	run(t, limits, func(p *process) {
		p.bigNodes()
		for i := range gapsNeeded {
			p.course.saving.others.add(time.Duration(i), p.clock.Now())
		}
		set(p, p.cluster, newPod("gated", "1", gatedAhead))
		<-time.After(2 * time.Second)
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.writes) == 0 {
			t.Error("nothing is written")
		}
	})
}

func TestOfGapsTheLastOnesCount(t *testing.T) {
	var s saving
	now := time.Now()
	ask := func(gap time.Duration, nominated, crowded bool) {
		now = now.Add(gap)
		s.note(types.UID(now.String()), nominated, crowded, false, now)
	}
	for _, gap := range []time.Duration{time.Second, time.Millisecond} {
		for range gapsNeeded {
			ask(gap, true, false)
		}
	}
	for range 3 * gapsKept {
		ask(50*time.Millisecond, false, true)
	}
	if _, known := s.perPod(now); known {
		t.Error("what pods take while many nominations stand is not what they take without")
	}
	for range 3 * gapsKept {
		ask(50*time.Millisecond, false, false)
	}
	for range gapsKept {
		ask(11*time.Millisecond, false, false)
	}
	if saved, known := s.perPod(now); !known || saved != 10*time.Millisecond {
		t.Errorf("%s are saved (%v), want 10ms", saved, known)
	}
}

// The scheduler asks about a pod again, on other nodes, when the nominated one does not suit.
func TestAPodThatIsAskedAboutTwiceCountsOnce(t *testing.T) {
	var s saving
	now := time.Now()
	for i := range 2 * gapsNeeded {
		now = now.Add(time.Millisecond)
		s.note(types.UID(fmt.Sprint(i/2)), false, i/2%2 > 0, false, now)
	}
	if got, want := len(s.others.all)+len(s.turns), gapsNeeded; got != want-1 { // before the first there was no gap
		t.Errorf("%d calls count, want %d", got, want-1)
	}
}

// Pods that are placed while they are gated keep their nominations when nominations of others are given up.
func TestNominationsOfPodsThatWereGatedAreNotGivenUp(t *testing.T) {
	run(t, savingLimits(), func(p *process) {
		p.bigNodes()
		p.live("live", 20, 10*time.Millisecond)
		names := p.nominatedNames("p", 100)
		ahead := newStore(p, p.cluster, ahead(), predicates.NewStoreMetrics(prometheus.NewRegistry()), p.clock)
		p.Nominator.mu.Lock()
		p.course.nominees[types.UID(names[0])].store = ahead
		other := &nominee{pod: cluster.NewPod(newPod("other", "1m")), store: p.course.nominees[types.UID(names[1])].store, stage: aside}
		for i := range turnsKept {
			other.pod = cluster.NewPod(newPod(fmt.Sprint("other-", i), "1m"))
			p.course.asked(other)
		}
		kept, givenUp := p.course.nominees[types.UID(names[0])].stage, p.course.nominees[types.UID(names[1])].stage
		p.Nominator.mu.Unlock()
		if kept != standing || givenUp == standing {
			t.Errorf("that of a pod that was gated is %s, another one %s", kept, givenUp)
		}
	})
}
