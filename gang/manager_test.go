package gang

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/core"
)

func TestTheSeedsExampleStartsFourOfSixAndNoneOfSix(t *testing.T) {
	run(t, func(p *process) {
		pods := members("nginx", 6, "3")
		p.set(podGroup("nginx", 4), node("a", "6"), node("b", "3"))
		p.set(objects(pods)...)
		p.after(time.Second)
		for _, pod := range pods {
			if got := p.filter(pod); got != core.ReasonNoPlace {
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
			core.ReasonNoGroup, "there is no PodGroup g in namespace default, and no member says muster.dev/min-member",
		},
		{
			"the PodGroup asks for nonsense", func(p *process) { p.set(podGroup("g", 0)) }, members("g", 2, "1"),
			core.ReasonInvalid, "spec.minMember: Invalid value: 0",
		},
		{
			"the PodGroup asks for a quantity that takes for ever to read", func(p *process) {
				p.set(podGroup("g", 2, func(spec map[string]any) { spec["minResources"] = map[string]any{"cpu": "1e-2147483648"} }))
			}, members("g", 2, "1"),
			core.ReasonInvalid, `spec.minResources[cpu]: Invalid value: "1e-2147483648"`,
		},
		{
			"a member says nonsense", func(*process) {}, members("g", 2, "1", annotated("two")),
			core.ReasonInvalid, `metadata.annotations[muster.dev/min-member]: Invalid value: "two"`,
		},
		{
			"members are missing", func(p *process) { p.set(podGroup("g", 3)) }, members("g", 2, "1"),
			core.ReasonSiblings, "waiting for 1 more of 3 members to be created",
		},
		{
			"a member is gated", func(p *process) { p.set(podGroup("g", 3)) },
			append(members("g", 2, "1"), members("gated", 1, "1", func(pod *corev1.Pod) {
				pod.Labels[v1alpha1.LabelX] = "g"
				pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "later"}}
			})...),
			core.ReasonSiblings, "waiting for 1 more of 3 members: 1 held back by gates of others",
		},
		{
			"the nodes are too small", func(p *process) { p.set(podGroup("g", 2)) }, members("g", 2, "9"),
			core.ReasonNoPlace, "places for 0 of 2 members; 2 of 2 nodes: Insufficient cpu",
		},
		{
			"minResources is more than all nodes have", func(p *process) {
				p.set(podGroup("g", 2, func(spec map[string]any) { spec["minResources"] = map[string]any{"cpu": "17"} }))
			}, members("g", 2, "1"),
			core.ReasonNoPlace, "minResources asks for 17 of cpu, and the nodes have less free",
		},
		{
			"minResources is of something that nobody has", func(p *process) {
				p.set(podGroup("g", 2, func(spec map[string]any) { spec["minResources"] = map[string]any{"example.com/gpu": "1"} }))
			}, members("g", 2, "1"),
			core.ReasonNoPlace, "minResources asks for 1 of example.com/gpu, and the nodes have less free",
		},
		{
			"no profile is for them", func(p *process) { p.set(podGroup("g", 2)) },
			members("g", 2, "1", func(pod *corev1.Pod) { pod.Spec.SchedulerName = "somebody-else" }),
			core.ReasonNoPlace, "no profile of muster has the scheduler name of all members",
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
		pods := members("g", 2, "1", withoutObject("g", "2"))
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

func (p *process) wantStaying(want bool, calls []*call) {
	p.Helper()
	for _, call := range calls {
		if call.held() != want {
			p.Errorf("%s is held: %t, error %v", call.pod.Name, call.held(), call.err)
		}
	}
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
		if got := p.filter(other[0]); got != core.ReasonNoPlace {
			t.Errorf("a member of the new gang is told %q", got)
		}
		if call := p.start(half[1])[0]; call.held() || call.err != nil {
			t.Errorf("what is left is held: %t, error %v", call.held(), call.err)
		}
	})
}

func ofPriority(value int32) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.Priority = &value }
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
				if got := p.filter(master); got != core.ReasonSiblings {
					t.Errorf("without workers the master is told %q", got)
				}
				p.set(objects(worker)...)
				p.after(time.Second)
				if got := p.filter(master); got != core.ReasonNoPlace {
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
		{v1alpha1.MatchWaitingAndBound, 0, core.ReasonSiblings},
		{v1alpha1.MatchOnceSatisfied, 0, "any"},
		{v1alpha1.MatchOnlyWaiting, 2, core.ReasonSiblings},
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

func TestAPodThatIsGoneWhenTheSchedulerAsksAboutItIsForgotten(t *testing.T) {
	run(t, func(p *process) {
		p.set(node("a", "8"), podGroup("g", 2))
		gone := members("g", 1, "1")[0]
		p.Verbs.Filter(cluster.NewPod(gone), 1)
		p.after(10 * time.Second)
		if about := p.Observer.Report(); len(about) > 0 {
			t.Errorf("there are gangs: %+v", about)
		}
	})
}
