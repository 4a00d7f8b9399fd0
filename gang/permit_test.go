package gang

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/core"
)

func TestHeldCallsEndInTimeAndLeaveNothingBehind(t *testing.T) {
	tests := []struct {
		name string
		spec func(spec map[string]any)
		then func(p *process, pods []*corev1.Pod, calls []*call)
		want error
		all  bool // the calls of the others end as well
	}{
		{
			"the group's own time is up", func(spec map[string]any) { spec["scheduleTimeoutSeconds"] = int64(10) },
			func(p *process, _ []*corev1.Pod, _ []*call) { p.after(11 * time.Second) }, core.ErrTimeout, true,
		},
		{"the scheduler hangs up", nil, func(_ *process, _ []*corev1.Pod, calls []*call) { calls[0].cancel() }, nil, false},
		{
			"the pod is deleted",
			nil,
			func(p *process, pods []*corev1.Pod, _ []*call) { p.delete(pods[0]); p.after(time.Second) },
			core.ErrGone,
			false,
		},
		{
			"the PodGroup is no longer valid",
			nil,
			func(p *process, _ []*corev1.Pod, _ []*call) { p.set(podGroup("g", -1)); p.after(time.Second) },
			core.ErrNoGroup,
			true,
		},
		{
			"the scheduler asks about the pod again",
			nil,
			func(p *process, pods []*corev1.Pod, _ []*call) { p.filter(pods[0]) },
			core.ErrAskedAgain,
			false,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			run(t, func(p *process) {
				pods := members("g", 3, "1")
				if test.spec == nil {
					test.spec = func(map[string]any) {}
				}
				p.set(node("a", "8"), podGroup("g", 3, test.spec))
				p.set(objects(pods)...)
				p.after(time.Second)
				calls := p.start(pods[:2]...)
				test.then(p, pods, calls)
				if calls[0].held() {
					t.Fatal("the call is held still")
				}
				if calls[0].err == nil || test.want != nil && !errors.Is(calls[0].err, test.want) {
					t.Errorf("the call ends with %v, want %v", calls[0].err, test.want)
				}
				if calls[1].held() == test.all {
					t.Errorf("the other call is held: %t", calls[1].held())
				}
				if test.all {
					for _, pod := range pods {
						if got := p.cluster.Assumed(pod.UID); got != "" {
							t.Errorf("%s counts on %s", pod.Name, got)
						}
					}
				}
				calls[1].cancel()
			})
		})
	}
}

func TestAGangWithinATenthOfItsNeedWaitsForTheLastMember(t *testing.T) {
	for _, test := range []struct {
		name   string
		min    int
		placed int // members that are held when the others are refused
		gap    int // percent that may be missing
		waits  bool
	}{
		{"one of ten is missing", 10, 9, 10, true},
		{"two of ten are missing", 10, 8, 10, false},
		{"two of ten are missing, and may be", 10, 8, 20, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			run(t, func(p *process) {
				p.limit(func(l *Limits) { l.MaxGap = test.gap })
				pods := members("g", test.min, "1")
				p.set(node("a", "32"), podGroup("g", int64(test.min)))
				p.set(objects(pods)...)
				p.after(time.Second)
				calls := p.start(pods[:test.placed]...)
				p.after(core.SchedulerLag)
				for _, pod := range pods[test.placed:] {
					p.filter(pod)
					p.Verbs.Refused(p.cluster.PendingPod(pod.UID), false)
				}
				for _, call := range calls {
					if call.held() != test.waits {
						t.Fatalf("%s is held: %t", call.pod.Name, call.held())
					}
					call.cancel()
				}
			})
		})
	}
}

func TestTheOthersKeepTheirPlacesWhenNoneIsFoundForALostMemberAndTheGapIsBearable(t *testing.T) {
	nonStrict := func(pod *corev1.Pod) { pod.Annotations[v1alpha1.AnnotationGangMode] = string(v1alpha1.GangNonStrict) }
	for _, test := range []struct {
		name   string
		min    int
		change func(*corev1.Pod)
		lost   int
		waits  bool
	}{
		{"one of ten", 10, func(*corev1.Pod) {}, 1, true},
		{"two of ten", 10, func(*corev1.Pod) {}, 2, false},
		{"two of ten of a gang that is not strict", 10, nonStrict, 2, true},
		{"all of a gang that is not strict", 2, nonStrict, 2, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			run(t, func(p *process) {
				pods := members("g", test.min, "1", withoutObject("g", fmt.Sprint(test.min)), test.change)
				p.set(node("kept", fmt.Sprint(test.min-test.lost)), node("lost", fmt.Sprint(test.lost)))
				p.set(objects(pods)...)
				p.after(time.Second)
				staying := slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool { return p.cluster.Assumed(pod.UID) != "kept" })
				calls := p.start(staying...)
				lost := slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool { return p.cluster.Assumed(pod.UID) != "lost" })
				cordoned := node("lost", fmt.Sprint(test.lost))
				cordoned.Spec.Unschedulable = true
				p.set(cordoned)
				for _, pod := range lost { // the scheduler did not know of its place
					p.Verbs.Filter(cluster.NewPod(pod), 1)
					p.Verbs.Refused(p.cluster.PendingPod(pod.UID), false)
				}
				p.after(10 * time.Second)
				p.wantStaying(test.waits, calls)
				if got := p.why("g"); strings.Contains(got, "keep their places") != test.waits {
					t.Errorf("it waits because: %s", got)
				}
				p.after(51 * time.Second)
				p.wantStaying(false, calls)
				if got := p.Observer.Report()[0]; got.Placed+got.Held > 0 {
					t.Errorf("when the time is up, %d are placed and %d held", got.Placed, got.Held)
				}
			})
		})
	}
}

func TestAGroupsTimeDoesNotBeginAnewWhenAMemberIsReplaced(t *testing.T) {
	run(t, func(p *process) {
		pods := members("g", 3, "1")
		p.set(node("a", "8"), podGroup("g", 3, func(spec map[string]any) { spec["scheduleTimeoutSeconds"] = int64(10) }))
		p.set(objects(pods)...)
		p.after(time.Second)
		call := p.start(pods[0])[0]
		p.after(8 * time.Second)
		p.delete(pods[1])
		p.set(members("g", 4, "1")[3])
		p.after(time.Second / 2)
		if !call.held() {
			t.Fatalf("the call ended too early: %v", call.err)
		}
		p.after(time.Second)
		if call.held() || !errors.Is(call.err, core.ErrTimeout) {
			t.Errorf("when the time of the group is up, the call is held: %t, error %v", call.held(), call.err)
		}
	})
}

func TestAMemberIsNotBoundToANodeThatHasGoneMeanwhile(t *testing.T) {
	run(t, func(p *process) {
		pods := members("g", 2, "1")
		p.set(node("a", "1"), node("b", "1"), podGroup("g", 2))
		p.set(objects(pods)...)
		p.after(time.Second)
		calls := p.start(pods[0])
		if err := p.cluster.Delete(node(calls[0].node, "1")); err != nil {
			t.Fatal(err)
		}
		calls = append(calls, p.start(pods[1])...)
		if calls[0].held() || !errors.Is(calls[0].err, core.ErrNodeGone) {
			t.Errorf("the call for a node that is gone is held: %t, error %v", calls[0].held(), calls[0].err)
		}
		if !calls[1].held() {
			t.Fatalf("the other one of two is let go: %v", calls[1].err)
		}
		p.set(node("c", "1"))
		p.after(time.Second)
		again := p.start(pods[0])[0]
		for _, call := range []*call{again, calls[1]} {
			if call.held() || call.err != nil {
				t.Errorf("with a place for both, %s is held: %t, error %v", call.pod.Name, call.held(), call.err)
			}
		}
	})
}

func TestARepeatedBindCallJoinsTheFirst(t *testing.T) {
	run(t, func(p *process) {
		pods := members("g", 2, "1")
		p.set(node("a", "8"), node("b", "8"), podGroup("g", 2))
		p.set(objects(pods)...)
		p.after(time.Second)
		first := p.start(pods[0])[0]
		again := p.bind(pods[0], first.node)
		other := map[string]string{"a": "b", "b": "a"}[first.node]
		if wrong := p.bind(pods[0], other); wrong.held() || wrong.err == nil {
			t.Errorf("a call for another node is held: %t, error %v", wrong.held(), wrong.err)
		}
		p.start(pods[1])
		if first.held() || again.held() || first.err != nil || again.err != nil {
			t.Errorf("held: %t and %t, errors %v and %v", first.held(), again.held(), first.err, again.err)
		}
	})
}

func TestMinMemberMayChangeWhileCallsAreHeld(t *testing.T) {
	run(t, func(p *process) {
		pods := members("g", 3, "1")
		p.set(node("a", "8"), podGroup("g", 3))
		p.set(objects(pods)...)
		p.after(time.Second)
		calls := p.start(pods[:2]...)
		p.set(podGroup("g", 2))
		p.after(time.Second)
		for _, call := range calls {
			if call.held() || call.err != nil {
				t.Errorf("%s is held: %t, error %v", call.pod.Name, call.held(), call.err)
			}
		}
	})
}

func TestAMemberWhoseBindingHasNoAnswerGetsNoOtherPlace(t *testing.T) {
	for _, test := range []struct {
		name string
		sent bool // whether the API server may have bound it
		want string
	}{
		{"the API server may have bound it", true, "b"},
		{"the API server has refused", false, "c"},
	} {
		t.Run(test.name, func(t *testing.T) {
			run(t, func(p *process) {
				p.set(node("a", "1"), node("b", "1"), podGroup("g", 2))
				pods := members("g", 2, "1")
				p.set(objects(pods)...)
				p.after(time.Second)
				at := map[string]*corev1.Pod{p.filter(pods[0]): pods[0], p.filter(pods[1]): pods[1]}
				last := at["b"]
				lost := make(chan error, 1)
				go func() { lost <- p.Verbs.Permit(p.Context(), last.UID, "b") }()
				p.bind(at["a"], "a")
				if err := <-lost; err != nil {
					t.Fatal(err)
				}
				if test.sent {
					p.cluster.Bind(last.UID, "b", 10*time.Second)
				} else {
					p.cluster.Refuse(last.UID)
				}
				p.Verbs.Bound(last.UID, context.DeadlineExceeded)
				p.set(node("c", "8"), members("x", 1, "1", func(pod *corev1.Pod) { pod.Labels, pod.Spec.NodeName = nil, "b" })[0])
				p.after(time.Second)
				if got := p.filter(last); got != test.want {
					t.Errorf("the scheduler is sent to %q, want %q", got, test.want)
				}
				if test.sent {
					if call := p.bind(last, "b"); call.held() || call.err != nil {
						t.Errorf("bound once more, it is held %t, error %v", call.held(), call.err)
					}
				}
			})
		})
	}
}
