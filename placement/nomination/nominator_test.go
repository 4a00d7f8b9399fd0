package nomination

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// process is a Nominator that runs in a bubble, and what it wrote.
type process struct {
	*bench
	*testing.T
	mu     sync.Mutex
	calls  int
	writes []string // pod → node, successful ones only
	answer func(pod *corev1.Pod, what string) error
	blind  atomic.Bool // the watch does not show what is written
}

// run lets a Nominator run in a test, and stops it at its end.
func run(t *testing.T, limits bounds, test func(p *process)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &process{T: t, answer: func(*corev1.Pod, string) error { return nil }}
		p.bench = newBench(t, limits, clock.RealClock{}, p)
		p.during(func() { test(p) })
	})
}

// during runs the Nominator while something happens.
func (p *process) during(what func()) {
	ctx, cancel := context.WithCancel(p.Context())
	var running sync.WaitGroup
	running.Go(func() { p.Nominator.Run(ctx) })
	running.Go(func() { p.writer.Run(ctx) })
	synctest.Wait()
	what()
	cancel()
	running.Wait()
	for uid := range p.course.nominees {
		p.cluster.Release(uid)
	}
}

// Nominate implements Client.
func (p *process) Nominate(_ context.Context, pod *corev1.Pod, node string) error {
	return p.write(pod, node, nominatedTo(node))
}

// write changes a pod as the API server would: the watch shows that at once.
func (p *process) write(pod *corev1.Pod, what string, change func(*corev1.Pod)) error {
	p.mu.Lock()
	answer := p.answer
	p.calls++
	p.mu.Unlock()
	if err := answer(pod, what); err != nil {
		return err
	}
	p.mu.Lock()
	p.writes = append(p.writes, pod.Name+" → "+what)
	p.mu.Unlock()
	if p.blind.Load() {
		return nil
	}
	next := pod.DeepCopy()
	next.ResourceVersion += "'"
	change(next)
	set(p, p.cluster, next)
	return nil
}

// LiftGate implements Client.
func (p *process) LiftGate(_ context.Context, pod *corev1.Pod, gate string) error {
	return p.write(pod, "goes", without(gate))
}

// after lets time pass, and everything happen that is due.
func (p *process) after(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func (p *process) written() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.writes...)
}

// called is how many writes were tried.
func (p *process) called() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls
}

// answers has the API server answer every write from now on.
func (p *process) answers(answer func(pod *corev1.Pod, node string) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = answer
}

func (p *process) wantEnded(want map[Outcome]int) {
	p.Helper()
	got := map[Outcome]int{}
	for outcome, count := range p.Report().Ended {
		if count > 0 {
			got[outcome] = count
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		p.Errorf("nominations that ended (-want +got):\n%s", diff)
	}
}

// inOrder writes one nomination after the other.
func inOrder() bounds {
	limits := testLimits()
	limits.Writers = 1
	return limits
}

func TestPodsAreNominatedInTheOrderOfTheQueueAndCountOnTheirNodes(t *testing.T) {
	run(t, inOrder(), func(p *process) {
		set(p, p.cluster, newNode("a", "2"))
		later := newPod("later", "1")
		later.CreationTimestamp.Time = time.Now().Add(time.Second)
		set(p, p.cluster, later, newPod("early", "1"), newPod("urgent", "1", ofPriority(10)))
		p.after(time.Second)
		if diff := cmp.Diff([]string{"urgent → a", "early → a"}, p.written()); diff != "" {
			t.Errorf("writes (-want +got):\n%s", diff)
		}
		if got := len(p.cluster.Snapshot().NodeByName("a").Pods); got != 2 {
			t.Errorf("%d pods count on the node, want 2", got)
		}
	})
}

func TestSomePodsAreLeftToTheScheduler(t *testing.T) {
	for name, pod := range map[string]*corev1.Pod{
		"of another scheduler":       newPod("p", "1", func(p *corev1.Pod) { p.Spec.SchedulerName = "other" }),
		"nominated by somebody else": newPod("p", "1", nominatedTo("b")),
		"somebody else's affair":     newPod("skip", "1"),
		"gated":                      newPod("p", "1", func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "g"}} }),
		"that fits nowhere":          newPod("p", "100"),
	} {
		t.Run(name, func(t *testing.T) {
			run(t, inOrder(), func(p *process) {
				set(p, p.cluster, newNode("a", "2"), pod)
				p.after(time.Minute)
				if got := p.written(); len(got) > 0 {
					t.Errorf("it is nominated: %v", got)
				}
				if got := p.Take("p"); got != "" {
					t.Errorf("it is planned for %s", got)
				}
			})
		})
	}
}

func TestNothingIsNominatedWhileFewPodsWait(t *testing.T) {
	limits := inOrder()
	limits.MinBacklog, limits.MinSaving = 10, time.Millisecond
	run(t, limits, func(p *process) {
		p.slowScheduler()
		set(p, p.cluster, newNode("a", "100"))
		pods := newPods(10, "1")
		set(p, p.cluster, pods[:9]...)
		p.after(oldGap / 2)
		if got := len(p.written()); got != 0 {
			t.Errorf("%d of 9 pods are nominated", got)
		}
		set(p, p.cluster, pods[9])
		p.after(time.Second)
		if got := len(p.written()); got != 10 {
			t.Errorf("%d of 10 pods are nominated", got)
		}
	})
}

func TestWithoutALeastSavingAPodThatWaitsAloneIsNominated(t *testing.T) {
	limits := inOrder()
	limits.MinBacklog, limits.MinSaving = 10, 0
	run(t, limits, func(p *process) {
		set(p, p.cluster, newNode("a", "100"), newPod("p", "1"))
		p.after(time.Second)
		p.wantWritten("p → a")
	})
}

func TestNoMorePodsAreAheadOfTheSchedulerThanAllowed(t *testing.T) {
	limits := inOrder()
	limits.MaxAhead = 8
	run(t, limits, func(p *process) {
		set(p, p.cluster, newNode("a", "100"))
		set(p, p.cluster, newPods(20, "1")...)
		p.after(time.Minute)
		if got := len(p.written()); got != 8 {
			t.Errorf("%d pods are nominated, want 8", got)
		}
		for i := range 4 {
			if got := p.Take(newPods(4, "1")[i].(*corev1.Pod).UID); got != "a" {
				t.Errorf("a pod that the scheduler takes up is planned for %q, want a", got)
			}
		}
		p.after(time.Second)
		if got := len(p.written()); got != 12 {
			t.Errorf("%d pods are nominated after 4 were taken up, want 12", got)
		}
	})
}

func TestNominationsAreWrittenNoFasterThanAllowed(t *testing.T) {
	limits := inOrder()
	limits.QPS, limits.Burst = 10, 5
	run(t, limits, func(p *process) {
		set(p, p.cluster, newNode("a", "100"))
		set(p, p.cluster, newPods(40, "1")...)
		p.after(2*time.Second + limits.Gather + time.Millisecond)
		if got := len(p.written()); got != 25 {
			t.Errorf("%d nominations in two seconds, want 5 at once and 20", got)
		}
	})
}

func TestMusterStepsAsideWhileTheAPIServerIsSlow(t *testing.T) {
	for name, test := range map[string]struct {
		takes time.Duration
		err   error
	}{
		"it takes its time": {takes: 12 * time.Second},
		"it is away":        {err: errors.New("connection refused")},
	} {
		t.Run(name, func(t *testing.T) {
			limits := inOrder()
			limits.BatchPods = 1
			run(t, limits, func(p *process) {
				p.answers(func(*corev1.Pod, string) error { <-time.After(test.takes); return test.err })
				set(p, p.cluster, newNode("a", "100"), newPod("first", "1"))
				p.after(test.takes + time.Second)
				before := p.called()
				set(p, p.cluster, newPods(10, "1")...)
				p.after(time.Second / 2)
				if now := p.called(); before != 1 || now != before || !p.Report().Pausing {
					t.Errorf("%d writes until one went badly and %d after; pausing: %t", before, now-before, p.Report().Pausing)
				}
				p.answers(func(*corev1.Pod, string) error { return nil })
				p.after(limits.Pause + 10*time.Second)
				if got := len(p.written()); got < 10 {
					t.Errorf("%d pods are nominated after the pause", got)
				}
			})
		})
	}
}

func TestANominationIsFollowedToItsEnd(t *testing.T) {
	tests := []struct {
		name   string
		then   func(p *process, pod *corev1.Pod) // the pod as it stands, nominated to the only node
		ended  map[Outcome]int
		writes []string
		counts int // pods on the node
	}{
		{
			name:   "the scheduler does not come, for hours",
			then:   func(p *process, _ *corev1.Pod) { p.after(3 * time.Hour) },
			ended:  map[Outcome]int{},
			counts: 1,
		},
		{
			name: "it is bound there",
			then: func(p *process, pod *corev1.Pod) {
				p.Take(pod.UID)
				pod.Spec.NodeName, pod.Status.NominatedNodeName = "a", ""
				set(p, p.cluster, pod)
			},
			ended:  map[Outcome]int{Confirmed: 1},
			counts: 1,
		},
		{
			name: "it is bound elsewhere",
			then: func(p *process, pod *corev1.Pod) {
				p.Take(pod.UID)
				pod.Spec.NodeName, pod.Status.NominatedNodeName = "b", ""
				set(p, p.cluster, pod)
			},
			ended: map[Outcome]int{Elsewhere: 1},
		},
		{
			name: "it is deleted",
			then: func(p *process, pod *corev1.Pod) {
				if err := p.cluster.Delete(pod); err != nil {
					p.Fatal(err)
				}
			},
			ended: map[Outcome]int{Gone: 1},
		},
		{
			name: "it is being deleted",
			then: func(p *process, pod *corev1.Pod) {
				pod.DeletionTimestamp = new(pod.CreationTimestamp)
				set(p, p.cluster, pod)
			},
			ended: map[Outcome]int{Gone: 1},
		},
		{
			name: "somebody else nominates it",
			then: func(p *process, pod *corev1.Pod) {
				pod.Status.NominatedNodeName = "b"
				set(p, p.cluster, pod)
				p.after(time.Hour)
			},
			ended: map[Outcome]int{Superseded: 1},
		},
		{
			name: "the scheduler fails to place it, and there is no other node",
			then: func(p *process, pod *corev1.Pod) {
				pod.Status.NominatedNodeName = ""
				unschedulable(pod)
				set(p, p.cluster, pod)
				p.after(time.Hour)
			},
			ended: map[Outcome]int{Rejected: 1},
		},
		{
			name: "the scheduler fails to place it, and there is another node",
			then: func(p *process, pod *corev1.Pod) {
				pod.Status.NominatedNodeName = ""
				unschedulable(pod)
				set(p, p.cluster, newNode("c", "2"), pod)
				p.after(10 * time.Second)
			},
			ended:  map[Outcome]int{Rejected: 1},
			writes: []string{"p → c"},
		},
		{
			name: "the scheduler has found no place before, and does not come again",
			then: func(p *process, pod *corev1.Pod) {
				unschedulable(pod)
				set(p, p.cluster, pod)
				p.after(time.Hour)
			},
			ended:  map[Outcome]int{Expired: 3},
			writes: []string{"p → ", "p → a", "p → ", "p → a", "p → "},
		},
		{
			name: "the scheduler evicts others for it",
			then: func(p *process, pod *corev1.Pod) {
				victim := newPod("victim", "1", ofPriority(-1))
				victim.Spec.NodeName, victim.DeletionTimestamp = "a", new(metav1.NewTime(time.Now().Add(time.Hour)))
				unschedulable(pod)
				set(p, p.cluster, victim, pod)
				p.after(time.Hour)
			},
			ended:  map[Outcome]int{},
			counts: 2,
		},
		{
			name: "a pod is to end there in centuries, as it says",
			then: func(p *process, pod *corev1.Pod) {
				victim := newPod("victim", "1", ofPriority(-1))
				victim.Spec.NodeName, victim.DeletionTimestamp = "a", new(metav1.NewTime(time.Now().Add(9_000_000_000*time.Second)))
				unschedulable(pod)
				set(p, p.cluster, victim, pod)
				p.after(time.Hour)
			},
			ended:  map[Outcome]int{Expired: 3},
			writes: []string{"p → ", "p → a", "p → ", "p → a", "p → "},
			counts: 1,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			run(t, inOrder(), func(p *process) {
				set(p, p.cluster, newNode("a", "2"), newPod("p", "1"))
				p.after(time.Second)
				pod := p.cluster.PendingPod("p").DeepCopy()
				if pod.Status.NominatedNodeName != "a" {
					t.Fatalf("it is nominated to %q at first", pod.Status.NominatedNodeName)
				}
				pod.ResourceVersion += "+"
				test.then(p, pod)
				p.after(time.Second)
				p.wantEnded(test.ended)
				if diff := cmp.Diff(append([]string{"p → a"}, test.writes...), p.written()); diff != "" {
					t.Errorf("writes (-want +got):\n%s", diff)
				}
				if got := len(p.cluster.Snapshot().NodeByName("a").Pods); got != test.counts {
					t.Errorf("%d pods count on the node, want %d", got, test.counts)
				}
			})
		})
	}
}

func TestAPodThatTheSchedulerDidNotPutOnTheBestNodeIsNominatedToTheNextBest(t *testing.T) {
	run(t, inOrder(), func(p *process) {
		set(p, p.cluster, newNode("best", "100"), newNode("next", "2"), newPod("p", "1"))
		p.after(time.Second)
		pod := p.cluster.PendingPod("p").DeepCopy()
		pod.ResourceVersion, pod.Status.NominatedNodeName = "2", ""
		unschedulable(pod)
		set(p, p.cluster, pod)
		p.after(10 * time.Second)
		if diff := cmp.Diff([]string{"p → best", "p → next"}, p.written()); diff != "" {
			t.Errorf("writes (-want +got):\n%s", diff)
		}
		p.wantEnded(map[Outcome]int{Rejected: 1})
	})
}

func TestAPodThatChangedSinceItWasPlannedRefusesItsNominationAndGetsAnother(t *testing.T) {
	run(t, inOrder(), func(p *process) {
		p.answers(func(pod *corev1.Pod, _ string) error {
			if pod.ResourceVersion == "1" {
				return conflict(pod.Name)
			}
			return nil
		})
		set(p, p.cluster, newNode("a", "2"), newPod("p", "1"))
		p.after(100 * time.Millisecond)
		set(p, p.cluster, newPod("p", "1", func(pod *corev1.Pod) { pod.ResourceVersion = "2" }))
		p.after(5 * time.Second)
		p.wantEnded(map[Outcome]int{Changed: 1})
		if diff := cmp.Diff([]string{"p → a"}, p.written()); diff != "" {
			t.Errorf("writes (-want +got):\n%s", diff)
		}
	})
}

func TestAPodThatIsTakenUpBeforeItsNominationIsWrittenIsNotNominated(t *testing.T) {
	limits := inOrder()
	limits.QPS, limits.Burst = 1, 1
	run(t, limits, func(p *process) {
		set(p, p.cluster, newNode("a", "100"))
		set(p, p.cluster, newPods(2, "1")...)
		p.after(100 * time.Millisecond)
		if got := p.Take("p001"); got != "a" {
			t.Errorf("it is planned for %q, want a", got)
		}
		p.after(time.Minute)
		p.wantEnded(map[Outcome]int{Overtaken: 1})
		if diff := cmp.Diff([]string{"p000 → a"}, p.written()); diff != "" {
			t.Errorf("writes (-want +got):\n%s", diff)
		}
	})
}

func TestPlansAreTheSameWithTheSameSeed(t *testing.T) {
	plan := func() (writes []string) {
		run(t, inOrder(), func(p *process) {
			for i := range 20 {
				set(p, p.cluster, newNode(fmt.Sprintf("n%02d", i), "4"))
			}
			set(p, p.cluster, newPods(20, "1")...)
			p.after(time.Second)
			writes = p.written()
		})
		return writes
	}
	first := plan()
	if len(first) != 20 {
		t.Fatalf("%d pods are nominated, want 20", len(first))
	}
	if diff := cmp.Diff(first, plan()); diff != "" {
		t.Errorf("two runs differ (-first +second):\n%s", diff)
	}
}

func TestAnotherProcessGoesOnWithTheNominationsOfTheFormerOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &process{T: t, answer: func(*corev1.Pod, string) error { return nil }}
		p.bench = newBench(t, inOrder(), clock.RealClock{}, p)
		set(p, p.cluster, newNode("a", "2"),
			newPod("stands", "1", nominatedTo("a"), bySelf),
			newPod("homeless", "1", nominatedTo("no-longer-there"), bySelf),
			newPod("preempts", "1", nominatedTo("no-longer-there")))
		p.during(func() {
			p.after(30 * time.Second)
			if got := p.cluster.Assumed("stands"); got != "a" {
				t.Errorf("what stands on a counts on %q", got)
			}
			if diff := cmp.Diff([]string{"homeless → ", "homeless → a"}, p.written()); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
			set(p, p.cluster, newPod("stands", "1", func(pod *corev1.Pod) { pod.Spec.NodeName = "a" }))
			p.after(time.Second)
			p.wantEnded(map[Outcome]int{Confirmed: 1})
		})
	})
}

func TestPlansGiveWayToHigherPriority(t *testing.T) {
	run(t, inOrder(), func(p *process) {
		set(p, p.cluster, newNode("a", "2"), newPod("low", "1"), newPod("high", "1", ofPriority(5)))
		p.after(time.Second)
		planned := p.PlannedBelow(5)
		if diff := cmp.Diff(map[string][]types.UID{"a": {"low"}}, planned); diff != "" || !p.Planned("low") || !p.Planned("high") {
			t.Fatalf("planned below 5 (-want +got):\n%s", diff)
		}
		p.Yield(planned["a"])
		if p.Planned("low") || p.cluster.Assumed("low") != "" {
			t.Error("low counts on its node still")
		}
		p.after(time.Second / 2)
		p.wantEnded(map[Outcome]int{Outranked: 1})
		if diff := cmp.Diff([]string{"high → a", "low → a", "low → "}, p.written()); diff != "" {
			t.Errorf("writes (-want +got):\n%s", diff)
		}
	})
}

func TestPlansLeaveTheRoomOfPodsThatOthersNominated(t *testing.T) {
	run(t, inOrder(), func(p *process) {
		set(p, p.cluster, newNode("a", "2"), newNode("b", "2"), newPod("on-b", "1", func(pod *corev1.Pod) { pod.Spec.NodeName = "b" }))
		elsewhere := func(pod *corev1.Pod) { pod.Spec.SchedulerName = "another-scheduler" }
		set(p, p.cluster, newPod("expected", "2", nominatedTo("a"), ofPriority(5), elsewhere))
		set(p, p.cluster, newPod("equal", "1", ofPriority(5)))
		p.after(time.Second)
		set(p, p.cluster, newPod("lower", "1"))
		p.after(time.Second)
		set(p, p.cluster, newPod("higher", "1", ofPriority(6)))
		p.after(time.Second)
		if diff := cmp.Diff([]string{"equal → b", "higher → a"}, p.written()); diff != "" {
			t.Errorf("writes (-want +got):\n%s", diff)
		}
		if err := p.cluster.Delete(newPod("expected", "2", elsewhere)); err != nil {
			t.Fatal(err)
		}
		p.after(10 * time.Second)
		if diff := cmp.Diff([]string{"equal → b", "higher → a", "lower → a"}, p.written()); diff != "" {
			t.Errorf("writes (-want +got):\n%s", diff)
		}
	})
}

func TestStuckPodsAreNominatedSoonAfterThereIsRoom(t *testing.T) {
	limits := testLimits()
	limits.MinBacklog, limits.MinSaving = 10, time.Millisecond
	run(t, limits, func(p *process) {
		p.slowScheduler()
		set(p, p.cluster, newNode("a", "1"))
		set(p, p.cluster, newPods(20, "2")...)
		p.after(oldGap / 2)
		if got := p.written(); len(got) > 0 {
			t.Fatalf("writes: %v", got)
		}
		set(p, p.cluster, newNode("b", "40"))
		p.after(2 * time.Second)
		if got := p.written(); len(got) != 20 {
			t.Errorf("%d pods are nominated, want 20: %v", len(got), got)
		}
	})
}

func TestStuckPodsThatLeftAreForgotten(t *testing.T) {
	run(t, testLimits(), func(p *process) {
		set(p, p.cluster, newNode("a", "1"))
		pods := newPods(3, "2")
		set(p, p.cluster, pods...)
		p.after(time.Minute)
		if len(p.course.jams) != 1 {
			t.Fatalf("%d classes are stuck, want 1", len(p.course.jams))
		}
		for _, pod := range pods {
			if err := p.cluster.Delete(pod); err != nil {
				t.Fatal(err)
			}
		}
		p.after(2 * time.Second)
		if len(p.course.jams) != 0 {
			t.Errorf("%d classes are stuck, and nobody waits", len(p.course.jams))
		}
	})
}

func TestWhatIsInFlightAndWhatWasMissedCanBeSeen(t *testing.T) {
	run(t, inOrder(), func(p *process) {
		set(p, p.cluster, newNode("a", "2"), newPod("p", "1"), newPod("q", "1"))
		p.after(time.Second)
		pod := p.cluster.PendingPod("q").DeepCopy()
		pod.ResourceVersion, pod.Status.NominatedNodeName = "9", "b"
		set(p, p.cluster, pod)
		p.after(time.Second)
		r := p.Report()
		if len(r.InFlight) != 1 || r.InFlight[0].Pod != "default/p" || r.InFlight[0].Node != "a" || r.InFlight[0].Stage != "standing" {
			t.Errorf("in flight: %+v", r.InFlight)
		}
		if len(r.Missed) != 1 || r.Missed[0].Pod != "default/q" || r.Missed[0].Outcome != Superseded {
			t.Errorf("missed: %+v", r.Missed)
		}
		if about, known := p.About("q"); !known || about.Stage != "aside" {
			t.Errorf("about q: %+v, known: %t", about, known)
		}
		if _, known := p.About("nobody"); known {
			t.Error("a stranger is known")
		}
		families, err := p.metrics.Gather()
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, family := range families {
			if strings.HasPrefix(family.GetName(), "muster_nomination") {
				found++
			}
		}
		if found != 7 {
			t.Errorf("%d metrics of nominations, want 7", found)
		}
	})
}
