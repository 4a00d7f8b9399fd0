package gang

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

func TestTheSeedsExampleStartsFourOfSixAndNoneOfSix(t *testing.T) {
	run(t, func(p *process) {
		pods := members("nginx", 6, "3")
		p.set(podGroup("nginx", 4), node("a", "6"), node("b", "3"))
		p.set(objects(pods)...)
		p.after(time.Second)
		for _, pod := range pods {
			if got := p.filter(pod); got != ReasonNoPlace {
				t.Errorf("with room for three of four, %s is told %q", pod.Name, got)
			}
		}
		if got := p.why("nginx"); !strings.Contains(got, "places for 3 of 4 members") || !strings.Contains(got, "Insufficient cpu") {
			t.Errorf("it waits because: %s", got)
		}
		p.set(node("b", "6"))
		p.after(5 * time.Second)
		calls := p.start(pods[:3]...)
		for _, call := range calls {
			if !call.held() {
				t.Errorf("%s is bound before the fourth one", call.pod.Name)
			}
		}
		calls = append(calls, p.start(pods[3])...)
		for _, call := range calls {
			if call.held() || call.err != nil {
				t.Errorf("%s is held: %t, error %v", call.pod.Name, call.held(), call.err)
			}
		}
		for _, pod := range pods[4:] { // where they go is for the scheduler to find out
			if got := p.filter(pod); got != "any" {
				t.Errorf("once the gang has started, %s is told %q", pod.Name, got)
			}
		}
	})
}

func TestAMemberIsRefusedForAReasonThatNeverChanges(t *testing.T) {
	annotated := func(value string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Annotations = map[string]string{v1alpha1.AnnotationMinMember: value} }
	}
	tests := []struct {
		name  string
		given func(p *process)
		pods  []*corev1.Pod
		want  string
		why   string
	}{
		{
			"there is no PodGroup", func(*process) {}, members("g", 2, "1"),
			ReasonNoGroup, "there is no PodGroup g in namespace default, and no member says muster.dev/min-member",
		},
		{
			"the PodGroup asks for nonsense", func(p *process) { p.set(podGroup("g", 0)) }, members("g", 2, "1"),
			ReasonInvalid, "spec.minMember: Invalid value: 0",
		},
		{
			"a member says nonsense", func(*process) {}, members("g", 2, "1", annotated("two")),
			ReasonInvalid, `metadata.annotations[muster.dev/min-member]: Invalid value: "two"`,
		},
		{
			"members are missing", func(p *process) { p.set(podGroup("g", 3)) }, members("g", 2, "1"),
			ReasonSiblings, "waiting for 1 more of 3 members to be created",
		},
		{
			"a member is gated", func(p *process) { p.set(podGroup("g", 3)) },
			append(members("g", 2, "1"), members("gated", 1, "1", func(pod *corev1.Pod) {
				pod.Labels[v1alpha1.LabelX] = "g"
				pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "later"}}
			})...),
			ReasonSiblings, "waiting for 1 more of 3 members to be created",
		},
		{
			"the nodes are too small", func(p *process) { p.set(podGroup("g", 2)) }, members("g", 2, "9"),
			ReasonNoPlace, "places for 0 of 2 members; 2 of 2 nodes: Insufficient cpu",
		},
		{
			"minResources is more than all nodes have", func(p *process) {
				p.set(podGroup("g", 2, func(spec map[string]any) { spec["minResources"] = map[string]any{"cpu": "17"} }))
			}, members("g", 2, "1"),
			ReasonNoPlace, "minResources asks for 17 of cpu, and the nodes have less free",
		},
		{
			"minResources is of something that nobody has", func(p *process) {
				p.set(podGroup("g", 2, func(spec map[string]any) { spec["minResources"] = map[string]any{"example.com/gpu": "1"} }))
			}, members("g", 2, "1"),
			ReasonNoPlace, "minResources asks for 1 of example.com/gpu, and the nodes have less free",
		},
		{
			"no profile is for them", func(p *process) { p.set(podGroup("g", 2)) },
			members("g", 2, "1", func(pod *corev1.Pod) { pod.Spec.SchedulerName = "somebody-else" }),
			ReasonNoPlace, "no profile of muster has the scheduler name of all members",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			run(t, func(p *process) {
				p.set(node("a", "8"), node("b", "8"))
				test.given(p)
				p.set(objects(test.pods)...)
				for range 3 {
					p.after(2 * time.Second)
					if got := p.filter(test.pods[0]); got != test.want {
						t.Errorf("refused for %q, want %q", got, test.want)
					}
				}
				if got := p.why("g"); !strings.HasPrefix(got, test.why) {
					t.Errorf("it waits because: %s\nwant: %s", got, test.why)
				}
				if writes := p.written(); len(writes) > 0 {
					t.Errorf("pods were written to: %v", writes)
				}
			})
		})
	}
}

func TestPodsOfNoGangAreLeftAlone(t *testing.T) {
	for name, change := range map[string]func(*corev1.Pod){
		"no label":              func(pod *corev1.Pod) { pod.Labels = nil },
		"an empty label":        func(pod *corev1.Pod) { pod.Labels[v1alpha1.LabelX] = "" },
		"a group of Kubernetes": func(pod *corev1.Pod) { pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{} },
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				pod := members("g", 1, "1", change)[0]
				p.set(node("a", "8"), podGroup("g", 5), pod)
				p.after(time.Second)
				if got := p.filter(pod); got != "any" {
					t.Errorf("it is told %q", got)
				}
				if call := p.bind(pod, "a"); call.held() || call.err != nil {
					t.Errorf("its binding is held, or fails: %v", call.err)
				}
			})
		})
	}
}

func TestAGroupNeedsNoObject(t *testing.T) {
	run(t, func(p *process) {
		pods := members("g", 2, "1", func(pod *corev1.Pod) {
			pod.Labels = map[string]string{v1alpha1.LabelMuster: "g"}
			pod.Annotations = map[string]string{v1alpha1.AnnotationMinMember: "2"}
		})
		p.set(node("a", "8"))
		p.set(objects(pods)...)
		p.after(time.Second)
		first := p.start(pods[0])[0]
		if !first.held() {
			t.Error("one of two is bound")
		}
		p.start(pods[1])
		if first.held() || first.err != nil {
			t.Errorf("two of two are held: %v", first.err)
		}
	})
}

func TestAWholeGangIsNominatedAheadAndWokenWhenThereIsRoom(t *testing.T) {
	run(t, func(p *process) {
		p.set(node("a", "1"), podGroup("g", 2))
		pods := members("g", 2, "1", tried)
		p.set(objects(pods)...)
		p.after(time.Minute)
		if writes := p.written(); len(writes) > 0 {
			t.Errorf("without room pods were written to: %v", writes)
		}
		p.set(node("b", "1"))
		p.after(time.Second)
		want := []string{"nominate g-0", "nominate g-1", "wake g-0", "wake g-1"}
		var got []string
		for _, write := range p.written() {
			words := strings.Fields(write)
			got = append(got, words[0]+" "+words[1])
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("writes (-want +got):\n%s", diff)
		}
	})
}

func TestASchedulerThatLooksAtFewNodesIsNotToldOfPlaces(t *testing.T) {
	run(t, func(p *process) {
		p.limits.Few = 2
		p.set(node("a", "2"), node("b", "2"), node("c", "2"), podGroup("g", 2), podGroup("h", 2))
		pods := members("g", 2, "2")
		p.set(objects(pods)...)
		p.after(time.Second)
		if writes := p.written(); len(writes) != 2 {
			t.Errorf("the scheduler may look at all of three nodes, and is told of the places of two pods by %v", writes)
		}
		p.Filter(p.cluster.ResourceNames().NewPod(pods[0]), 1) // as it was before it was nominated
		p.delete(pods[0])
		p.delete(pods[1])
		p.set(objects(members("h", 2, "2"))...)
		p.after(time.Second)
		if writes := p.written(); len(writes) > 0 {
			t.Errorf("the scheduler looks at one node for a pod, and is told of places by %v", writes)
		}
	})
}

func TestNoGangIsHalfPlannedWhileTwoCompete(t *testing.T) {
	run(t, func(p *process) {
		p.set(node("a", "4"), podGroup("one", 3), podGroup("two", 3))
		one, two := members("one", 3, "1"), members("two", 3, "1")
		for i := range one { // interleaved
			p.set(one[i], two[i])
		}
		p.after(time.Second)
		p.start(one...)
		if got := p.filter(two[0]); got != ReasonNoPlace {
			t.Errorf("a member of the second gang is told %q", got)
		}
		for _, pod := range one {
			p.delete(pod)
		}
		p.after(time.Second)
		for _, call := range p.start(two...) {
			if call.held() || call.err != nil {
				t.Errorf("%s: held, or error %v", call.pod.Name, call.err)
			}
		}
	})
}

func TestHeldCallsEndInTimeAndLeaveNothingBehind(t *testing.T) {
	tests := []struct {
		name string
		spec func(spec map[string]any)
		then func(p *process, pods []*corev1.Pod, calls []*call)
		want error
		all  bool // the calls of the others end as well
	}{
		{"bind calls may not wait longer", nil, func(p *process, _ []*corev1.Pod, _ []*call) { p.after(28 * time.Second) }, errTimeout, true},
		{
			"the group's own time is up", func(spec map[string]any) { spec["scheduleTimeoutSeconds"] = int64(10) },
			func(p *process, _ []*corev1.Pod, _ []*call) { p.after(11 * time.Second) }, errTimeout, true,
		},
		{"the scheduler hangs up", nil, func(_ *process, _ []*corev1.Pod, calls []*call) { calls[0].cancel() }, nil, false},
		{"the pod is deleted", nil, func(p *process, pods []*corev1.Pod, _ []*call) { p.delete(pods[0]); p.after(time.Second) }, errGone, false},
		{"the PodGroup is no longer valid", nil, func(p *process, _ []*corev1.Pod, _ []*call) { p.set(podGroup("g", -1)); p.after(time.Second) }, errNoGroup, true},
		{"the scheduler asks about the pod again", nil, func(p *process, pods []*corev1.Pod, _ []*call) { p.filter(pods[0]) }, errAskedAgain, false},
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
		waits  bool
	}{
		{"one of ten is missing", 10, 9, true},
		{"two of ten are missing", 10, 8, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			run(t, func(p *process) {
				pods := members("g", test.min, "1")
				p.set(node("a", "32"), podGroup("g", int64(test.min)))
				p.set(objects(pods)...)
				p.after(time.Second)
				calls := p.start(pods[:test.placed]...)
				for _, pod := range pods[test.placed:] {
					p.filter(pod)
					p.Refused(p.cluster.PendingPod(pod.UID))
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
				pods := members("g", test.min, "1", func(pod *corev1.Pod) {
					pod.Labels = map[string]string{v1alpha1.LabelMuster: "g"}
					pod.Annotations = map[string]string{v1alpha1.AnnotationMinMember: fmt.Sprint(test.min)}
				}, test.change)
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
					p.Filter(p.cluster.ResourceNames().NewPod(pod), 1)
					p.Refused(p.cluster.PendingPod(pod.UID))
				}
				p.after(10 * time.Second)
				p.wantStaying(test.waits, calls)
				if got := p.why("g"); strings.Contains(got, "keep their places") != test.waits {
					t.Errorf("it waits because: %s", got)
				}
				p.after(18 * time.Second)
				p.wantStaying(false, calls)
				if got := p.Report()[0]; got.Placed+got.Held > 0 {
					t.Errorf("when the time is up, %d are placed and %d held", got.Placed, got.Held)
				}
			})
		})
	}
}

func (p *process) wantStaying(want bool, calls []*call) {
	p.Helper()
	for _, call := range calls {
		if call.held() != want {
			p.Errorf("%s is held: %t, error %v", call.pod.Name, call.held(), call.err)
		}
	}
}

func TestAMemberWhosePlaceTheSchedulerHasNotComeUponIsSteeredThere(t *testing.T) {
	run(t, func(p *process) {
		pods := members("g", 3, "1")
		p.set(node("a", "3"), podGroup("g", 3))
		p.set(objects(pods)...)
		unsteered := p.cluster.PendingPod(pods[1].UID)
		call := p.start(pods[0])[0]
		if decision := p.Filter(unsteered, 1); decision.Node != "a" {
			t.Fatalf("%+v", decision)
		}
		p.cluster.Release(unsteered.UID)
		p.Refused(unsteered)
		if !call.held() {
			t.Fatalf("the others are given up: %v", call.err)
		}
		p.after(time.Second)
		writes := p.written()
		if !slices.Contains(writes, "nominate g-1 a") || !slices.ContainsFunc(writes, func(w string) bool { return strings.HasPrefix(w, "wake g-1") }) {
			t.Errorf("the member is not nominated or not woken: %v", writes)
		}
		p.start(pods[1:]...)
		if call.held() || call.err != nil {
			t.Errorf("the gang has not started: held %t, error %v", call.held(), call.err)
		}
	})
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
		if call.held() || !errors.Is(call.err, errTimeout) {
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
		if calls[0].held() || !errors.Is(calls[0].err, errNodeGone) {
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

func TestWhatIsLeftOfAHalfBoundGangGoesFirst(t *testing.T) {
	run(t, func(p *process) {
		half, other := members("half", 2, "1"), members("a-new-one", 2, "1")
		half[0].Spec.NodeName = "a"
		p.set(podGroup("half", 2), podGroup("a-new-one", 2))
		p.set(objects(other)...)
		p.set(objects(half)...)
		p.set(node("a", "3"))
		p.after(time.Second)
		if got := p.filter(other[0]); got != ReasonNoPlace {
			t.Errorf("a member of the new gang is told %q", got)
		}
		if call := p.start(half[1])[0]; call.held() || call.err != nil {
			t.Errorf("what is left is held: %t, error %v", call.held(), call.err)
		}
	})
}

func TestNominationsOfAFormerProcessAreTakenBackWithoutAPlan(t *testing.T) {
	run(t, func(p *process) {
		pods := members("g", 2, "4")
		p.set(node("a", "6"), podGroup("g", 2))
		p.set(objects(pods)...)
		p.after(time.Second)
		if err := p.Nominate(t.Context(), pods[0], "a"); err != nil {
			t.Fatal(err)
		}
		p.after(time.Second)
		if diff := cmp.Diff([]string{"nominate g-0", "nominate g-0 a"}, p.written()); diff != "" {
			t.Errorf("writes (-want +got):\n%s", diff)
		}
	})
}

func ofPriority(value int32) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.Priority = &value }
}

func TestAPlanGivesWayToHigherPriorityUntilItStarts(t *testing.T) {
	tests := []struct {
		name  string
		then  func(p *process, low []*corev1.Pod, calls []*call) (higher *corev1.Pod)
		gives bool
	}{
		{"to a gang", func(p *process, _ []*corev1.Pod, _ []*call) *corev1.Pod {
			high := members("high", 2, "2", ofPriority(5))
			p.set(podGroup("high", 2), high[0], high[1])
			p.after(time.Second)
			return high[0]
		}, true},
		{"not to one of equal priority", func(p *process, _ []*corev1.Pod, _ []*call) *corev1.Pod {
			equal := members("equal", 2, "2")
			p.set(podGroup("equal", 2), equal[0], equal[1])
			p.after(time.Second)
			return equal[0]
		}, false},
		{"not once it has started", func(p *process, low []*corev1.Pod, _ []*call) *corev1.Pod {
			p.start(low[2])
			high := members("high", 2, "2", ofPriority(5))
			p.set(podGroup("high", 2), high[0], high[1])
			p.after(time.Second)
			return high[0]
		}, false},
		{"not to one that would not fit all the same", func(p *process, _ []*corev1.Pod, _ []*call) *corev1.Pod {
			high := members("high", 2, "9", ofPriority(5))
			p.set(podGroup("high", 2), high[0], high[1])
			p.after(time.Second)
			return high[0]
		}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			run(t, func(p *process) {
				low := members("low", 3, "1")
				p.set(node("a", "4"), podGroup("low", 3))
				p.set(objects(low)...)
				p.after(time.Second)
				calls := p.start(low[:2]...)
				higher := test.then(p, low, calls)
				if got := p.filter(higher); (got == "a") != test.gives {
					t.Errorf("the other one is told %q", got)
				}
				if test.gives && (calls[0].held() || !errors.Is(calls[0].err, errOutranked)) {
					t.Errorf("the call of the lower one is held: %t, error %v", calls[0].held(), calls[0].err)
				}
				for _, call := range calls {
					call.cancel()
				}
			})
		})
	}
}

func TestAPlanGivesWayToASinglePod(t *testing.T) {
	run(t, func(p *process) {
		low := members("low", 2, "2")
		single := members("single", 1, "1", ofPriority(5), func(pod *corev1.Pod) { pod.Labels = nil })[0]
		p.set(node("a", "4"), podGroup("low", 2), single)
		p.set(objects(low)...)
		p.after(time.Second)
		if got := p.cluster.Assumed(low[0].UID); got != "a" {
			t.Fatalf("the gang counts on %q", got)
		}
		store := p.profiles.Of(corev1.DefaultSchedulerName)
		if !p.GiveWay(p.cluster.PendingPod(single.UID), store) {
			t.Error("the plan does not give way")
		}
		if p.GiveWay(p.cluster.PendingPod(single.UID), store) {
			t.Error("there is nothing left to give way, and something does")
		}
	})
}

func annotate(group *unstructured.Unstructured, key, value string) {
	group.SetAnnotations(map[string]string{key: value})
}

func TestGroupsOfSeveralRolesStartTogether(t *testing.T) {
	for _, key := range []string{v1alpha1.AnnotationGroups, v1alpha1.AnnotationKoordinatorGroups} {
		t.Run(key, func(t *testing.T) {
			run(t, func(p *process) {
				masters, workers := podGroup("masters", 1), podGroup("workers", 2)
				annotate(masters, key, `["default/masters", "default/workers"]`)
				annotate(workers, key, `["default/masters", "default/workers"]`)
				p.set(node("a", "2"), masters, workers)
				master, worker := members("masters", 1, "1")[0], members("workers", 2, "1")
				p.set(master)
				p.after(time.Second)
				if got := p.filter(master); got != ReasonSiblings {
					t.Errorf("without workers the master is told %q", got)
				}
				p.set(objects(worker)...)
				p.after(time.Second)
				if got := p.filter(master); got != ReasonNoPlace {
					t.Errorf("with room for two of three the master is told %q", got)
				}
				p.set(node("b", "2"))
				p.after(5 * time.Second)
				calls := p.start(master, worker[0])
				for _, call := range calls {
					if !call.held() {
						t.Errorf("%s is not held before the last worker", call.pod.Name)
					}
				}
				for _, call := range append(calls, p.start(worker[1])...) {
					if call.held() || call.err != nil {
						t.Errorf("%s: held %t, error %v", call.pod.Name, call.held(), call.err)
					}
				}
			})
		})
	}
}

func TestMatchPoliciesSayWhoCounts(t *testing.T) {
	for _, test := range []struct {
		policy v1alpha1.MatchPolicy
		left   int // members that run while a new one comes
		want   string
	}{
		{v1alpha1.MatchWaitingAndBound, 2, "any"},
		{v1alpha1.MatchWaitingAndBound, 1, "a"}, // one is missing, and one comes
		{v1alpha1.MatchWaitingAndBound, 0, ReasonSiblings},
		{v1alpha1.MatchOnceSatisfied, 0, "any"},
		{v1alpha1.MatchOnlyWaiting, 2, ReasonSiblings},
	} {
		t.Run(fmt.Sprintf("%s, %d run", test.policy, test.left), func(t *testing.T) {
			run(t, func(p *process) {
				group := podGroup("g", 2)
				annotate(group, v1alpha1.AnnotationMatchPolicy, string(test.policy))
				pods := members("g", 4, "1")
				p.set(node("a", "8"), group, pods[3]) // keeps the group alive
				p.set(objects(pods[:2])...)
				p.after(time.Second)
				p.start(pods[:2]...)
				p.delete(pods[3])
				p.set(pods[2])
				p.delete(pods[test.left:2]...)
				p.after(time.Second)
				if got := p.filter(pods[2]); got != test.want {
					t.Errorf("the new one is told %q, want %q", got, test.want)
				}
			})
		})
	}
}

func TestEvictionsThatHarmAGangAreKnown(t *testing.T) {
	run(t, func(p *process) {
		running, starting := members("running", 3, "1"), members("starting", 2, "1")
		p.set(node("a", "8"), podGroup("running", 2), podGroup("starting", 2))
		p.set(objects(running)...)
		p.set(objects(starting)...)
		p.after(time.Second)
		p.start(running...)
		call := p.start(starting[0])[0]
		for _, test := range []struct {
			victims []types.UID
			want    Harm
		}{
			{[]types.UID{"somebody"}, NoHarm},
			{[]types.UID{"running-0"}, NoHarm},
			{[]types.UID{"running-0", "running-1"}, BreaksGang},
			{[]types.UID{"somebody", "starting-0"}, BreaksStart},
		} {
			if got := p.Harm(test.victims); got != test.want {
				t.Errorf("harm of evicting %v: %d, want %d", test.victims, got, test.want)
			}
		}
		call.cancel()
	})
}

func TestAMemberThatWasRefusedIsWokenBeforeTheWatchSaysSo(t *testing.T) {
	run(t, func(p *process) {
		pods := members("g", 2, "1")
		p.set(node("a", "8"), podGroup("g", 2), pods[0])
		p.after(time.Second)
		if got := p.filter(pods[0]); got != ReasonSiblings {
			t.Fatalf("it is told %q", got)
		}
		p.set(pods[1])
		p.after(time.Second)
		if diff := cmp.Diff([]string{"nominate g-0 a", "nominate g-1 a", "wake g-0"}, p.written()); diff != "" {
			t.Errorf("writes (-want +got):\n%s", diff)
		}
	})
}

func TestAMemberThatWasRefusedBeforeItsGangStartedIsWokenAfterwards(t *testing.T) {
	run(t, func(p *process) {
		gang := members("g", 3, "1")
		p.set(podGroup("g", 2), node("a", "1"), node("b", "1"))
		p.set(objects(gang)...)
		p.after(time.Second)
		if got := p.filter(gang[2]); got != ReasonNoPlace && got != ReasonNoRoom {
			t.Fatalf("the third member of two with a place is told %q", got)
		}
		p.start(gang[:2]...)
		p.written()
		p.after(time.Second)
		if diff := cmp.Diff([]string{"wake g-2"}, p.written()); diff != "" {
			t.Errorf("writes when the gang has started (-want +got):\n%s", diff)
		}
		if got := p.filter(gang[2]); got != "any" {
			t.Errorf("it is told %q, want any node with room", got)
		}
		p.after(time.Minute)
		if got := p.written(); len(got) > 0 {
			t.Errorf("writes later: %q", got)
		}
	})
}

func TestAPodThatIsGoneWhenTheSchedulerAsksAboutItIsForgotten(t *testing.T) {
	run(t, func(p *process) {
		p.set(node("a", "8"), podGroup("g", 2))
		gone := members("g", 1, "1")[0]
		p.Filter(p.cluster.ResourceNames().NewPod(gone), 1)
		p.after(10 * time.Second)
		if about := p.Report(); len(about) > 0 {
			t.Errorf("there are gangs: %+v", about)
		}
	})
}

func TestAPodForWhichAGangLeftNoRoomIsWokenWhenTheGangGivesUp(t *testing.T) {
	run(t, func(p *process) {
		pods := members("g", 2, "2")
		single := members("", 1, "3")[0]
		single.Name, single.UID, single.Labels = "single", "single", nil
		large := single.DeepCopy()
		large.Name, large.UID, large.Spec.Containers[0].Resources = "large", "large", members("", 1, "5")[0].Spec.Containers[0].Resources
		p.set(node("a", "4"), podGroup("g", 2))
		p.set(append(objects(pods), single, large)...)
		p.after(time.Second)
		p.Missed(p.cluster.PendingPod(single.UID))
		p.Missed(p.cluster.PendingPod(large.UID))
		p.written()
		p.after(30 * time.Second)
		if writes := p.written(); slices.Contains(writes, "wake single") {
			t.Fatalf("it is woken while the gang has its places: %v", writes)
		}
		p.delete(pods...)
		p.after(time.Second)
		if diff := cmp.Diff([]string{"wake single"}, p.written()); diff != "" {
			t.Errorf("writes (-want +got):\n%s", diff)
		}
	})
}
