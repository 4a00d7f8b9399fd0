package gang

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/gang/core"
)

// preempt is a call of the scheduler about a pod that fits nowhere: who is to go from its
// place, "" for nobody, "alone" when that is to be found out for the pod alone.
func (p *process) preempt(pod *corev1.Pod) string {
	p.Helper()
	answer, starting := p.Verbs.Preempt(p.cluster.PendingPod(pod.UID))
	if !starting {
		return "alone"
	}
	var names []string
	for _, victim := range answer.Victims {
		names = append(names, victim.Name)
	}
	if len(names) == 0 {
		return ""
	}
	return answer.Node + ": " + strings.Join(names, " ")
}

// running are pods of no gang, one on each of some nodes, that take all of its CPU.
func (p *process) running(nodes int, change ...func(*corev1.Pod)) []*corev1.Pod {
	p.Helper()
	var pods []*corev1.Pod
	for i := range nodes {
		name := string(rune('a' + i))
		p.set(node(name, "4"))
		pods = append(pods, members("on-"+name, 1, "4", append([]func(*corev1.Pod){alone, on(name)}, change...)...)...)
	}
	p.set(objects(pods)...)
	return pods
}

func alone(pod *corev1.Pod) { pod.Labels = nil }

func on(name string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.NodeName = name }
}

func grace(seconds int64) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.TerminationGracePeriodSeconds = &seconds }
}

// leaving is a pod that is being deleted.
func leaving(pod *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	until := metav1.NewTime(time.Now().Add(30 * time.Second))
	pod.DeletionTimestamp = &until
	return pod
}

// placesOf are the nodes on which pods count, by their order.
func (p *process) placesOf(pods []*corev1.Pod) []string {
	places := make([]string, len(pods))
	for i, pod := range pods {
		places[i] = p.cluster.Assumed(pod.UID)
	}
	slices.Sort(places)
	return places
}

func TestAWholeGangPreemptsOnTheFirstCallAndStartsOnceItsVictimsAreGone(t *testing.T) {
	run(t, func(p *process) {
		victims := p.running(4)
		gang := members("g", 4, "3", ofPriority(10), tried)
		p.set(podGroup("g", 4))
		p.set(objects(gang)...)
		p.after(time.Second)
		calls := []string{p.preempt(gang[0])}
		if diff := cmp.Diff([]string{"a", "b", "c", "d"}, p.placesOf(gang)); diff != "" {
			t.Errorf("places after the first call (-want +got):\n%s", diff)
		}
		if got, want := p.why("g"), "waiting for 4 pods to be evicted for it"; got != want {
			t.Errorf("it waits because: %s", got)
		}
		for _, pod := range gang[1:] {
			calls = append(calls, p.preempt(pod))
		}
		slices.Sort(calls)
		if diff := cmp.Diff([]string{"a: on-a-0", "b: on-b-0", "c: on-c-0", "d: on-d-0"}, calls); diff != "" {
			t.Errorf("victims (-want +got):\n%s", diff)
		}
		p.after(time.Second)
		p.written()
		for i, victim := range victims {
			p.set(leaving(victim))
			for _, pod := range gang {
				if got := p.filter(pod); got != core.ReasonVictims {
					t.Errorf("while pods are there %s is told %q", pod.Name, got)
				}
			}
			if i == 1 {
				for _, pod := range gang {
					if got := p.preempt(pod); strings.HasSuffix(got, "on-a-0") || strings.HasSuffix(got, "on-b-0") {
						t.Errorf("a pod that goes already is to be evicted: %s", got)
					}
				}
			}
			p.delete(victim)
		}
		p.after(time.Second)
		if diff := cmp.Diff([]string{"nominate g-0 a", "wake g-0", "wake g-1", "wake g-2", "wake g-3"}, p.written()); diff != "" {
			t.Errorf("writes once all are gone (-want +got):\n%s", diff)
		}
		for _, call := range p.start(gang...) {
			if call.held() || call.err != nil {
				t.Errorf("%s: held %t, error %v", call.pod.Name, call.held(), call.err)
			}
		}
	})
}

func TestNobodyIsEvictedForAGangThatWouldNotStart(t *testing.T) {
	never := corev1.PreemptNever
	for name, given := range map[string]func(p *process) []*corev1.Pod{
		"there is room for three of four": func(p *process) []*corev1.Pod {
			p.running(3)
			return members("g", 4, "3", ofPriority(10))
		},
		"others are of the same priority": func(p *process) []*corev1.Pod {
			p.running(4, ofPriority(10))
			return members("g", 4, "3", ofPriority(10))
		},
		"one of its members is not more important than the others": func(p *process) []*corev1.Pod {
			p.running(4)
			pods := members("g", 4, "3", ofPriority(10))
			ofPriority(0)(pods[3])
			return pods
		},
		"it must never preempt": func(p *process) []*corev1.Pod {
			p.running(4)
			return members("g", 4, "3", ofPriority(10), func(pod *corev1.Pod) { pod.Spec.PreemptionPolicy = &never })
		},
		"a member is missing": func(p *process) []*corev1.Pod {
			p.running(4)
			return members("g", 3, "3", ofPriority(10))
		},
		"a gang that is about to start has the room": func(p *process) []*corev1.Pod {
			starting := members("starting", 2, "2")
			p.set(node("d", "4"), podGroup("starting", 2))
			p.set(objects(starting)...)
			p.after(time.Second)
			p.start(starting[0])
			bound := starting[1].DeepCopy() // by somebody else
			bound.Spec.NodeName = "d"
			p.set(podGroup("starting", 3), bound)
			p.running(1)
			p.set(node("free", "2"))
			return members("g", 4, "2", ofPriority(10)) // two may replace running pods
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				pods := given(p)
				p.set(podGroup("g", 4))
				p.set(objects(pods)...)
				p.after(time.Second)
				for range 2 {
					for _, pod := range pods {
						if got := p.preempt(pod); got != "" {
							t.Errorf("%s has evicted %s", pod.Name, got)
						}
						if got := p.cluster.Assumed(pod.UID); got != "" {
							t.Errorf("%s counts on %s", pod.Name, got)
						}
					}
					p.after(5 * time.Second)
				}
			})
		})
	}
}

func TestWhoGoesForAGang(t *testing.T) {
	// gangOn starts a gang of lower priority, a member on each of some nodes.
	gangOn := func(p *process, least int64, nodes ...string) {
		p.set(podGroup("low", least))
		for i, pod := range members("low", len(nodes), "4") {
			p.set(node(nodes[i], "4"))
			on(nodes[i])(pod)
			p.set(pod)
		}
	}
	for _, test := range []struct {
		name  string
		given func(p *process)
		want  []string
	}{
		{
			"members of a gang that are more than must run, and no more of them", func(p *process) {
				gangOn(p, 3, "x", "y", "z", "w")
				p.running(1, ofPriority(5))
			}, []string{"low", "on"},
		},
		{
			"pods of higher priority before a gang that runs", func(p *process) {
				gangOn(p, 2, "x", "y")
				p.running(2, ofPriority(5))
			}, []string{"on", "on"},
		},
		{
			"a gang that runs, when nothing else helps", func(p *process) {
				gangOn(p, 2, "x", "y")
				p.running(1, ofPriority(5))
			}, []string{"low", "on"},
		},
		{
			"what is left of a gang that does not run, as any other pod", func(p *process) {
				gangOn(p, 3, "x", "y")
				p.running(2, ofPriority(5))
			}, []string{"low", "low"},
		},
		{
			"nobody, when pods that go anyway leave enough", func(p *process) {
				p.running(3)
				for _, name := range []string{"y", "z"} {
					p.set(node(name, "4"), leaving(members("leaving-"+name, 1, "4", alone, on(name))[0]))
				}
			}, nil,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			run(t, func(p *process) {
				test.given(p)
				gang := members("g", 2, "3", ofPriority(10))
				p.set(podGroup("g", 2))
				p.set(objects(gang)...)
				p.after(time.Second)
				var got []string
				for _, pod := range gang {
					if victim := p.preempt(pod); victim != "" {
						kind, _, _ := strings.Cut(victim[len("x: "):], "-")
						got = append(got, kind)
					}
				}
				slices.Sort(got)
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("victims (-want +got):\n%s", diff)
				}
				if got := p.filter(gang[0]); got != core.ReasonVictims {
					t.Errorf("the gang is told %q", got)
				}
			})
		})
	}
}

func TestAGangWaitsForItsVictimsAsLongAsTheyMayTake(t *testing.T) {
	run(t, func(p *process) {
		p.running(2, grace(300))
		gang := members("g", 2, "3", ofPriority(10))
		p.set(podGroup("g", 2))
		p.set(objects(gang)...)
		p.after(time.Second)
		p.preempt(gang[0])
		p.after(5 * time.Minute)
		if diff := cmp.Diff([]string{"a", "b"}, p.placesOf(gang)); diff != "" {
			t.Errorf("places while pods may take their time (-want +got):\n%s", diff)
		}
		p.after(p.limits.Timeout)
		if diff := cmp.Diff([]string{"", ""}, p.placesOf(gang)); diff != "" {
			t.Errorf("places when it is over (-want +got):\n%s", diff)
		}
		if got := p.filter(gang[0]); got != core.ReasonNoPlace {
			t.Errorf("then the gang is told %q", got)
		}
	})
}

func TestAGangWhoseMembersKeepApartSaysThatEvictionsWouldNotHelp(t *testing.T) {
	apart := func(pod *corev1.Pod) {
		pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: pod.Labels},
			}},
		}}
	}
	run(t, func(p *process) {
		p.running(2)
		for _, name := range []string{"a", "b"} {
			labelled := node(name, "4").DeepCopy()
			labelled.Labels = map[string]string{corev1.LabelHostname: name}
			p.set(labelled)
		}
		gang := members("g", 3, "3", ofPriority(10), apart)
		p.set(podGroup("g", 3))
		p.set(objects(gang)...)
		const want = "places for 0 of 3 members; 2 of 2 nodes: Insufficient cpu; if all went that may be evicted: " +
			"places for 2 of 3 members; beside the others, 2 of 2 nodes: node(s) didn't match pod anti-affinity rules"
		for range 3 {
			p.after(2 * time.Second)
			p.filter(gang[0])
			if got := p.preempt(gang[0]); got != "" {
				t.Errorf("%s is to be evicted", got)
			}
			if got := p.why("g"); got != want {
				t.Errorf("it waits because: %s\nwant: %s", got, want)
			}
		}
	})
}

func TestNobodyIsEvictedForAGangWhereNobodyMayBe(t *testing.T) {
	for name, nobody := range map[string]bool{"some may": false, "nobody may": true} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				p.limit(func(l *Limits) { l.EvictNobody = nobody })
				p.running(1)
				gang := members("g", 1, "3", ofPriority(10))
				p.set(podGroup("g", 1), gang[0])
				p.after(time.Second)
				p.filter(gang[0])
				if asked := p.preempt(gang[0]) != ""; asked == nobody {
					t.Errorf("kube-scheduler is told to evict: %t, want %t", asked, !nobody)
				}
				p.after(time.Minute)
				evicted := slices.ContainsFunc(p.written(), func(write string) bool { return strings.HasPrefix(write, "evict ") })
				if evicted == nobody {
					t.Errorf("muster evicts: %t, want %t", evicted, !nobody)
				}
			})
		})
	}
}

func TestAMemberThatNeedsNoVictimsWaitsForThoseOfOthers(t *testing.T) {
	run(t, func(p *process) {
		victim := p.running(1)[0]
		p.set(node("free", "4"))
		gang := members("g", 2, "3", ofPriority(10))
		p.set(podGroup("g", 2))
		p.set(objects(gang)...)
		p.after(time.Second)
		if diff := cmp.Diff([]string{"", "a: on-a-0"}, []string{p.preempt(gang[0]), p.preempt(gang[1])}); diff != "" {
			t.Errorf("victims (-want +got):\n%s", diff)
		}
		if got := p.filter(gang[0]); got != core.ReasonVictims {
			t.Errorf("it is told %q", got)
		}
		p.delete(victim)
		p.after(time.Second)
		if diff := cmp.Diff([]string{"free", "a"}, []string{p.filter(gang[0]), p.filter(gang[1])}); diff != "" {
			t.Errorf("places (-want +got):\n%s", diff)
		}
	})
}

func TestAMemberThatGetsItsPlaceWhenTheSchedulerAsksWhomToEvictIsWoken(t *testing.T) {
	run(t, func(p *process) {
		planned := members("planned", 1, "4", alone)[0]
		p.set(node("a", "4"), podGroup("g", 2), planned)
		p.count(planned, "a")
		gang := members("g", 2, "2", ofPriority(10))
		p.set(objects(gang)...)
		p.after(time.Second)
		for _, pod := range gang {
			p.filter(pod)
		}
		p.cluster.Release(planned.UID) // the scheduler does not hear of this
		if got := p.preempt(gang[0]); got != "" {
			t.Errorf("%s is to be evicted", got)
		}
		p.after(time.Second)
		p.wrote("with places for both", "nominate g-0", "nominate g-1", "wake g-0", "wake g-1")
	})
}

func TestAMemberWhoseLastVictimHasGoneWhenTheSchedulerAsksAgainIsWoken(t *testing.T) {
	run(t, func(p *process) {
		victim := p.running(1)[0]
		gang := members("g", 1, "3", ofPriority(10))
		p.set(podGroup("g", 1), gang[0])
		p.after(time.Second)
		p.preempt(gang[0])
		p.filter(gang[0])
		p.written()
		p.delete(victim)
		if got := p.preempt(gang[0]); got != "" {
			t.Errorf("%s is to be evicted", got)
		}
		p.after(time.Second)
		p.wrote("when it is gone", "nominate g-0", "wake g-0")
	})
}

func TestAGangThatAsksForMoreThanIsFreeGetsNoPlaceThatNobodyHasToLeave(t *testing.T) {
	for name, test := range map[string]struct {
		minCPU, filter string
	}{
		"more than is free": {"12", core.ReasonNoPlace},
		"what is free":      {"4", "a"},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				p.set(node("a", "4"), node("b", "4"))
				p.set(members("low", 1, "4", alone, on("b"))[0])
				gang := members("g", 2, "2", ofPriority(10))
				p.set(podGroup("g", 2, func(spec map[string]any) { spec["minResources"] = map[string]any{"cpu": test.minCPU} }))
				p.set(objects(gang)...)
				p.after(time.Second)
				got := []string{p.filter(gang[0]), p.preempt(gang[0]), p.preempt(gang[1]), p.filter(gang[0])}
				if diff := cmp.Diff([]string{test.filter, "", "", test.filter}, got); diff != "" {
					t.Errorf("answers to filter, preempt, preempt and filter (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestVictimsGoThoughTheSchedulerDoesNotAskAboutEveryMember(t *testing.T) {
	run(t, func(p *process) {
		p.running(2)
		gang := members("g", 2, "3", ofPriority(10))
		p.set(podGroup("g", 2))
		p.set(gang[0])
		p.after(time.Second)
		if got := p.preempt(gang[0]); got != "" {
			t.Errorf("for the first one, %s is evicted", got)
		}
		p.set(gang[1])
		p.after(time.Second)
		if got := p.preempt(gang[1]); got != "a: on-a-0" {
			t.Errorf("for the second one, %s is evicted", got)
		}
		p.set(leaving(members("on-a", 1, "4", alone, on("a"))[0]))
		p.after(p.limits.EvictAfter / 2)
		p.written()
		p.after(p.limits.EvictAfter)
		if diff := cmp.Diff([]string{"evict on-b-0 for default/g"}, p.written()); diff != "" {
			t.Errorf("writes (-want +got):\n%s", diff)
		}
		p.after(2 * core.EvictRetry)
		if diff := cmp.Diff([]string(nil), p.written()); diff != "" {
			t.Errorf("later writes (-want +got):\n%s", diff)
		}
	})
}

func TestRolesPreemptTogether(t *testing.T) {
	for _, nodes := range []int{2, 3} {
		t.Run(fmt.Sprintf("%d nodes for three", nodes), func(t *testing.T) {
			run(t, func(p *process) {
				p.running(nodes)
				masters, workers := podGroup("masters", 1), podGroup("workers", 2)
				annotate(masters, v1alpha1.AnnotationGroups, `["default/masters", "default/workers"]`)
				annotate(workers, v1alpha1.AnnotationGroups, `["default/masters", "default/workers"]`)
				master, worker := members("masters", 1, "3", ofPriority(10)), members("workers", 2, "3", ofPriority(10))
				p.set(masters, workers)
				p.set(objects(slices.Concat(master, worker))...)
				p.after(time.Second)
				got := 0
				for _, pod := range slices.Concat(worker, master) {
					if p.preempt(pod) != "" {
						got++
					}
				}
				if want := map[int]int{2: 0, 3: 3}[nodes]; got != want {
					t.Errorf("%d calls are answered with victims, want %d", got, want)
				}
			})
		})
	}
}

func TestAMemberThatComesWhileOthersWaitHasPodsEvictedAsWell(t *testing.T) {
	run(t, func(p *process) {
		victims := p.running(3)
		gang := members("g", 3, "3", ofPriority(10))
		p.set(podGroup("g", 2))
		p.set(objects(gang[:2])...)
		p.after(time.Second)
		p.preempt(gang[0])
		p.delete(gang[1])
		p.set(gang[2])
		p.after(time.Second)
		if got := p.filter(gang[2]); got != core.ReasonVictims {
			t.Errorf("the new one is told %q", got)
		}
		if got := p.preempt(gang[2]); got == "" {
			t.Error("nobody goes for the new one")
		}
		for _, victim := range victims {
			if place := p.cluster.Assumed(gang[0].UID); victim.Spec.NodeName == place || victim.Spec.NodeName == p.cluster.Assumed(gang[2].UID) {
				p.delete(victim)
			}
		}
		p.after(time.Second)
		for _, call := range p.start(gang[0], gang[2]) {
			if call.held() || call.err != nil {
				t.Errorf("%s: held %t, error %v", call.pod.Name, call.held(), call.err)
			}
		}
	})
}

func TestMembersOfAGangThatHasStartedPreemptAlone(t *testing.T) {
	run(t, func(p *process) {
		gang := members("g", 3, "4", ofPriority(10))
		p.set(podGroup("g", 2), node("x", "4"), node("y", "4"))
		p.set(objects(gang)...)
		p.after(time.Second)
		p.start(gang[:2]...)
		p.running(1)
		if got := p.preempt(gang[2]); got != "alone" {
			t.Errorf("a third one has evicted %q", got)
		}
	})
}
