package nomination

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/predicates"
)

// ahead writes one thing after the other for gated pods.
func ahead() bounds {
	limits := inOrder()
	limits.gates = config.GatesUntilPlace
	limits.MinBacklog, limits.MinSaving = 20, time.Hour
	return limits
}

func (p *process) wantWritten(want ...string) {
	p.Helper()
	if diff := cmp.Diff(append([]string{}, want...), p.written()); diff != "" {
		p.Errorf("writes (-want +got):\n%s", diff)
	}
}

// wantLifted are the gates that were lifted, by reason.
func (p *process) wantLifted(want map[Reason]int) {
	p.Helper()
	got := map[Reason]int{}
	for _, reason := range reasons() {
		if count := counterOf(p.T, p.Nominator.metrics.lifted.WithLabelValues(string(reason))); count > 0 {
			got[reason] = count
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		p.Errorf("gates that were lifted (-want +got):\n%s", diff)
	}
}

func alsoGated(pod *corev1.Pod) {
	pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: "example.com/other"})
}

func TestAGatedPodIsLetGoOnceItsPlaceIsKnown(t *testing.T) {
	run(t, ahead(), func(p *process) {
		set(p, p.cluster, newNode("a", "2"), newPod("p", "1", gatedAhead))
		p.after(time.Second)
		p.wantWritten("p → a", "p → goes")
		p.wantLifted(map[Reason]int{Placed: 1})
		p.after(time.Hour) // the scheduler takes its time
		if got := p.cluster.Assumed("p"); got != "a" {
			t.Errorf("it counts on %q", got)
		}
		pod := p.cluster.PendingPod("p").DeepCopy()
		pod.Spec.NodeName = "a"
		set(p, p.cluster, pod)
		p.after(time.Second)
		p.wantEnded(map[Outcome]int{Confirmed: 1})
		p.wantWritten("p → a", "p → goes")
	})
}

func TestAGateIsNotLiftedBeforeTheWatchShowsTheNomination(t *testing.T) {
	run(t, ahead(), func(p *process) {
		p.blind.Store(true)
		set(p, p.cluster, newNode("a", "2"), newPod("p", "1", gatedAhead))
		p.after(time.Minute)
		p.wantWritten("p → a")
		p.blind.Store(false)
		set(p, p.cluster, newPod("p", "1", gatedAhead, nominatedTo("a"), bySelf, ofVersion("2")))
		p.after(time.Second)
		p.wantWritten("p → a", "p → goes")
	})
}

func TestPodsThatMusterDoesNotPlaceAreNotKept(t *testing.T) {
	goes, notOurs := []string{"p → goes"}, map[Reason]int{NotOurs: 1}
	never := func(p *process, pod *corev1.Pod) { set(p, p.cluster, pod) }
	for name, test := range map[string]struct {
		pod    *corev1.Pod
		then   func(p *process, pod *corev1.Pod)
		limits func(*bounds)
		want   []string
		lifted map[Reason]int
	}{
		"it was never gated":             {pod: newPod("p", "1"), then: never},
		"it waits for others":            {pod: newPod("p", "1", gatedAhead, alsoGated), then: never},
		"it waits for others alone":      {pod: newPod("p", "1", alsoGated), then: never},
		"it is of another scheduler":     {newPod("p", "1", gatedAhead, ofScheduler("other")), never, nil, goes, notOurs},
		"it opts out":                    {newPod("p", "1", gatedAhead, optsOut), never, nil, goes, notOurs},
		"it is somebody else's affair":   {newPod("skip", "1", gatedAhead), never, nil, []string{"skip → goes"}, map[Reason]int{NotOurs: 1}},
		"somebody else has nominated it": {newPod("p", "1", gatedAhead, nominatedTo("a")), never, nil, goes, notOurs},
		"others let it go at last": {
			pod: newPod("p", "1", gatedAhead, alsoGated),
			then: func(p *process, pod *corev1.Pod) {
				set(p, p.cluster, pod)
				p.after(time.Hour)
				set(p, p.cluster, newPod("p", "1", gatedAhead, ofVersion("2")))
			},
			want: []string{"p → a", "p → goes"}, lifted: map[Reason]int{Placed: 1},
		},
		"it fits nowhere": {newPod("p", "100", gatedAhead), never, nil, []string{"p → goes"}, map[Reason]int{Unplaced: 1}},
		"its nominations fail": {
			pod: newPod("p", "1", gatedAhead),
			then: func(p *process, pod *corev1.Pod) {
				p.answers(func(_ *corev1.Pod, what string) error {
					if what == "a" {
						return errors.New("status may not be written")
					}
					return nil
				})
				set(p, p.cluster, pod)
			},
			limits: func(b *bounds) { b.Pause = 0 },
			want:   []string{"p → goes"}, lifted: map[Reason]int{GivenUp: 1},
		},
		"the scheduler stands still, and too many pods are ahead of it": {
			pod: newPod("p", "1", gatedAhead),
			then: func(p *process, pod *corev1.Pod) {
				set(p, p.cluster, newPod("first", "1", gatedAhead, ofPriority(1)))
				set(p, p.cluster, pod)
			},
			limits: func(b *bounds) { b.MaxAhead = 1 },
			want:   []string{"first → a", "first → goes", "p → goes"}, lifted: map[Reason]int{Placed: 1, Overdue: 1},
		},
		"somebody else lets it go before it has a place": {
			pod: newPod("p", "100", gatedAhead),
			then: func(p *process, pod *corev1.Pod) {
				set(p, p.cluster, pod)
				p.after(time.Second)
				set(p, p.cluster, newPod("p", "1", ofVersion("2")))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			limits := ahead()
			if test.limits != nil {
				test.limits(&limits)
			}
			run(t, limits, func(p *process) {
				set(p, p.cluster, newNode("a", "2"))
				test.then(p, test.pod)
				p.after(5 * time.Minute)
				p.wantWritten(test.want...)
				if test.lifted == nil {
					test.lifted = map[Reason]int{}
				}
				p.wantLifted(test.lifted)
			})
		})
	}
}

func TestAPodWithoutAPlaceIsLetGoAfterASeveralSecondsAndNotBefore(t *testing.T) {
	run(t, ahead(), func(p *process) {
		set(p, p.cluster, newNode("a", "2"), newPod("p", "100", gatedAhead))
		p.after(p.limits.NoPlace - time.Second)
		p.wantWritten()
		p.after(2 * time.Second)
		p.wantWritten("p → goes")
		set(p, p.cluster, newNode("large", "200")) // it is kube-scheduler's now
		p.after(time.Hour)
		p.wantWritten("p → goes")
	})
}

func TestAPodGetsAPlaceThatComesInTime(t *testing.T) {
	run(t, ahead(), func(p *process) {
		set(p, p.cluster, newNode("a", "2"), newPod("p", "100", gatedAhead))
		p.after(time.Second)
		set(p, p.cluster, newNode("large", "200"))
		p.after(p.limits.NoPlace)
		p.wantWritten("p → large", "p → goes")
	})
}

func TestWhatKubeSchedulerRefusesIsPlacedOnTheNextBestNodeAndThenLeft(t *testing.T) {
	run(t, ahead(), func(p *process) {
		set(p, p.cluster, newNode("a", "32"), newNode("b", "16"), newNode("c", "8"), newNode("d", "4"), newPod("p", "1", gatedAhead))
		for i := range 4 {
			p.after(10 * time.Second)
			pod := p.cluster.PendingPod("p").DeepCopy()
			pod.ResourceVersion += fmt.Sprint("-refused-", i)
			unschedulable(pod)
			nominatedTo("")(pod)
			set(p, p.cluster, pod)
		}
		p.after(time.Hour)
		p.wantWritten("p → a", "p → goes", "p → b", "p → c")
		if got := p.cluster.Assumed("p"); got != "" {
			t.Errorf("it counts on %q", got)
		}
		p.wantEnded(map[Outcome]int{Rejected: 3})
	})
}

func TestGatesAreLiftedOnceWritesWorkAgain(t *testing.T) {
	run(t, ahead(), func(p *process) {
		p.answers(func(*corev1.Pod, string) error { return errors.New("connection refused") })
		set(p, p.cluster, newNode("a", "100"))
		set(p, p.cluster, newPods(30, "1", gatedAhead)...)
		p.after(10 * time.Minute)
		p.wantWritten()
		p.answers(func(*corev1.Pod, string) error { return nil })
		p.after(10 * time.Second)
		lifted := 0
		for _, what := range p.written() {
			if len(what) > 4 && what[len(what)-4:] == "goes" {
				lifted++
			}
		}
		if lifted != 30 {
			t.Errorf("%d of 30 gates are lifted: %v", lifted, p.written())
		}
	})
}

func TestPodsAreLetGoWhenTheirProfileIsNotAheadAnyMore(t *testing.T) {
	for _, selection := range []config.NodeSelection{config.NodeSelectionScheduler, config.NodeSelectionMuster} {
		t.Run(string(selection), func(t *testing.T) {
			run(t, ahead(), func(p *process) {
				set(p, p.cluster, newNode("a", "8"), newPod("never", "100", gatedAhead))
				p.after(time.Second)
				metrics := predicates.NewStoreMetrics(prometheus.NewRegistry())
				p.profiles.Replace(newStore(p, p.cluster, bounds{selection: selection}, metrics, clock.RealClock{}))
				p.after(100 * time.Millisecond)
				set(p, p.cluster, newPod("late", "1", gatedAhead))
				p.after(time.Second)
				p.wantWritten("never → goes", "late → goes")
				p.profiles.Replace(newStore(p, p.cluster, ahead(), metrics, clock.RealClock{}))
				set(p, p.cluster, newPod("again", "1", gatedAhead))
				p.after(time.Second)
				p.wantWritten("never → goes", "late → goes", "again → a", "again → goes")
			})
		})
	}
}

func TestAnotherProcessLetsGoWhatTheFormerOneKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &process{T: t, answer: func(*corev1.Pod, string) error { return nil }}
		p.bench = newBench(t, ahead(), clock.RealClock{}, p)
		set(p, p.cluster, newNode("a", "8"),
			newPod("gone", "1", nominatedTo("a"), bySelf),
			newPod("kept", "1", gatedAhead, nominatedTo("a"), bySelf),
			newPod("new", "1", gatedAhead),
			newPod("woken", "1", nominatedTo("a"), bySelf, unschedulable))
		p.during(func() {
			p.after(30 * time.Second)
			p.wantWritten("kept → goes", "woken → ", "new → a", "new → goes")
			for name, want := range map[string]string{"gone": "a", "kept": "a", "new": "a", "woken": ""} {
				if got := p.cluster.Assumed(newPod(name, "1").UID); got != want {
					t.Errorf("%s counts on %q, want %q", name, got, want)
				}
			}
		})
	})
}

func ofScheduler(name string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.SchedulerName = name }
}

func ofVersion(version string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.ResourceVersion = version }
}

func optsOut(pod *corev1.Pod) { metav1.SetMetaDataLabel(&pod.ObjectMeta, v1alpha1.LabelAhead, "false") }
