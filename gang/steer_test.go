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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/core"
)

func nominatedBy(manager string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.NominatedNodeName = "a"
		pod.ManagedFields = []metav1.ManagedFieldsEntry{
			{Manager: manager, FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:nominatedNodeName":{}}}`)},
		}
	}
}

func TestANominationWithoutAPlanIsTakenBackUnlessItIsOfSomebodyElse(t *testing.T) {
	group := podGroup("g", 2)
	for name, test := range map[string]struct {
		manager string
		objects []runtime.Object // besides a member that is nominated
		want    []string
	}{
		"muster's":         {cluster.FieldManager, []runtime.Object{group}, []string{"nominate g-0"}},
		"kube-scheduler's": {core.SchedulerManager, []runtime.Object{group}, []string{"nominate g-0"}},
		"kube-scheduler's, after the PodGroup is gone": {core.SchedulerManager, nil, []string{"nominate g-0"}},
		"kube-scheduler's, for one more of a gang that has started": {
			core.SchedulerManager, append(objects(members("g", 3, "1", on("a"))[1:]), group), nil,
		},
		"that of somebody else": {"an-autoscaler", []runtime.Object{group}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				p.set(node("a", "2"))
				p.set(test.objects...)
				p.set(members("g", 1, "1", nominatedBy(test.manager))[0])
				p.after(time.Second)
				if diff := cmp.Diff(test.want, p.written()); diff != "" {
					t.Errorf("written (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestANominationOfASchedulerStandsWhileItsVictimsGo(t *testing.T) {
	run(t, func(p *process) {
		p.set(node("a", "2"), podGroup("g", 2))
		p.set(objects(members("low", 2, "1", alone, on("a")))...)
		pods := members("g", 2, "1", ofPriority(1), tried)
		p.set(objects(pods)...)
		p.after(time.Second)
		p.filter(pods[0])
		answer, _ := p.Verbs.Preempt(p.cluster.PendingPod(pods[0].UID))
		if answer.Node != "a" || len(answer.Victims) == 0 {
			t.Fatalf("the answer is %+v", answer)
		}
		nominatedBy(core.SchedulerManager)(pods[0])
		p.set(pods[0])
		p.after(500 * time.Millisecond)
		if got := p.written(); slices.Contains(got, "nominate g-0") {
			t.Errorf("it is taken back while victims go: %v", got)
		}
		p.delete(pods[1]) // the plan ends before long
		p.after(5 * time.Minute)
		if got := p.written(); !slices.Contains(got, "nominate g-0") {
			t.Errorf("it stands when the plan has ended: %v", got)
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

func TestASchedulerThatMayMissTheOnlyNodesThatWillDoIsToldOfPlaces(t *testing.T) {
	for _, test := range []struct {
		name      string
		nodes     int
		looksAt   int
		annotate  string
		nominates int
	}{
		{"it looks at some of the nodes", 120, 100, "required", 1},
		{"it looks at all nodes", 120, 120, "required", 0},
		{"nodes are few, and it looks at all but one that does not fit", 100, 99, "required", 0},
		{"others will do", 120, 100, "preferred", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			run(t, func(p *process) {
				p.limit(func(l *Limits) { l.Few = 600 })
				racks := map[string]int{}
				for i := range test.nodes / 10 {
					racks[fmt.Sprint("b/r", i)] = 10
				}
				p.racks(racks)
				g := podGroup("g", 2)
				g.SetAnnotations(map[string]string{"muster.dev/" + test.annotate + "-topology": rackKey})
				p.set(g)
				pods := members("g", 2, "1")
				p.set(pods[0])
				p.Verbs.Filter(cluster.NewPod(pods[0]), test.looksAt)
				p.set(pods[1])
				p.Verbs.Filter(cluster.NewPod(pods[1]), test.looksAt)
				p.after(time.Second)
				nominated := slices.DeleteFunc(p.written(), func(w string) bool { return !strings.HasPrefix(w, "nominate ") })
				if len(nominated) != test.nominates {
					t.Errorf("it is told of places by %v, want %d", nominated, test.nominates)
				}
			})
		})
	}
}

func TestASchedulerThatLooksAtFewNodesIsNotToldOfPlaces(t *testing.T) {
	run(t, func(p *process) {
		p.limit(func(l *Limits) { l.Few, l.FewOfDevices = 2, 1<<30 })
		p.set(node("a", "2"), node("b", "2"), node("c", "2"), podGroup("g", 2), podGroup("h", 2))
		pods := members("g", 2, "2")
		p.set(objects(pods)...)
		p.after(time.Second)
		if writes := p.written(); len(writes) != 2 {
			t.Errorf("the scheduler may look at all of three nodes, and is told of the places of two pods by %v", writes)
		}
		p.Verbs.Filter(cluster.NewPod(pods[0]), 1) // as it was before it was nominated
		p.delete(pods[0])
		p.delete(pods[1])
		p.set(objects(members("h", 2, "2"))...)
		p.after(time.Second)
		if writes := p.written(); len(writes) > 0 {
			t.Errorf("the scheduler looks at one node for a pod, and is told of places by %v", writes)
		}
	})
}

func TestAMemberWhosePlaceTheSchedulerHasNotComeUponIsSteeredThere(t *testing.T) {
	for _, test := range []struct {
		name   string
		missed bool
		want   string
	}{
		{"it is good still", true, "a"},
		{"it is not good any more", false, "b"},
	} {
		t.Run(test.name, func(t *testing.T) {
			run(t, func(p *process) {
				pods := members("g", 3, "1")
				p.set(node("a", "3"), podGroup("g", 3))
				p.set(objects(pods)...)
				unsteered := p.cluster.PendingPod(pods[1].UID)
				call := p.start(pods[0])[0]
				if decision := p.Verbs.Filter(unsteered, 1); decision.Node != "a" {
					t.Fatalf("%+v", decision)
				}
				if !test.missed {
					cordoned := node("a", "3")
					cordoned.Spec.Unschedulable = true
					p.set(cordoned, node("b", "1"))
					p.cluster.Release(unsteered.UID)
				}
				p.Verbs.Refused(unsteered, test.missed)
				if !call.held() {
					t.Fatalf("the others are given up: %v", call.err)
				}
				p.after(time.Second)
				writes := p.written()
				if !slices.Contains(writes, "nominate g-1 "+test.want) ||
					!slices.ContainsFunc(writes, func(w string) bool { return strings.HasPrefix(w, "wake g-1") }) {
					t.Errorf("the member is not nominated or not woken: %v", writes)
				}
				p.start(pods[1:]...)
				if call.held() || call.err != nil {
					t.Errorf("the gang has not started: held %t, error %v", call.held(), call.err)
				}
			})
		})
	}
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

func TestAMemberThatWasRefusedIsWokenBeforeTheWatchSaysSo(t *testing.T) {
	run(t, func(p *process) {
		pods := members("g", 2, "1")
		p.set(node("a", "8"), podGroup("g", 2), pods[0])
		p.after(time.Second)
		if got := p.filter(pods[0]); got != core.ReasonSiblings {
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
		if got := p.filter(gang[2]); got != core.ReasonNoPlace && got != core.ReasonNoRoom {
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

func TestAWakeThatFailsIsRepeated(t *testing.T) {
	for name, given := range map[string]func(p *process){
		"of a member of a gang that has got its place": func(p *process) {
			p.set(node("a", "1"), podGroup("g", 1))
			p.refuse(errors.New("too many requests"))
			p.set(members("g", 1, "1", tried)[0])
		},
		"of one more of a gang that has started": func(p *process) {
			gang := members("g", 2, "1")
			p.set(podGroup("g", 1), node("a", "1"))
			p.set(objects(gang)...)
			p.after(time.Second)
			p.filter(gang[0])
			p.filter(gang[1])
			p.refuse(errors.New("too many requests"))
			p.bind(gang[0], "a")
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				wakes := func(d time.Duration) (count int) {
					p.after(d)
					for _, write := range p.written() {
						if strings.HasPrefix(write, "wake ") {
							count++
						}
					}
					return count
				}
				given(p)
				if got := wakes(5*core.WakeRetry + core.WakeRetry/2); got < 4 || got > 7 {
					t.Errorf("while writes fail it is woken %d times in five seconds and a half, want about once a second", got)
				}
				p.refuse(nil)
				if got := wakes(2 * core.WakeRetry); got != 1 {
					t.Errorf("then it is woken %d times, want once", got)
				}
			})
		})
	}
}

func TestAMemberThatWasRefusedIsWokenWhenItIsOfNoGangAnyMore(t *testing.T) {
	for name, failures := range map[string]error{"at once": nil, "after writes have failed": errors.New("too many requests")} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				member := members("g", 2, "1")[0]
				p.set(node("a", "1"), podGroup("g", 2), member)
				p.after(time.Second)
				if got := p.filter(member); got != core.ReasonSiblings {
					t.Fatalf("it is told %q", got)
				}
				p.refuse(failures)
				single := member.DeepCopy()
				single.Labels = nil
				p.set(single)
				p.after(3 * core.WakeRetry)
				p.refuse(nil)
				p.after(2 * core.WakeRetry)
				if got := p.written(); len(got) == 0 || got[len(got)-1] != "wake g-0" || failures == nil && len(got) != 1 {
					t.Errorf("writes: %q, want that it is woken", got)
				}
				p.bind(single, "a")
				p.after(time.Minute)
				p.wrote("once it has a place")
			})
		})
	}
}

func TestAMemberThatIsGoneIsNotWokenAgain(t *testing.T) {
	run(t, func(p *process) {
		p.set(node("a", "1"), podGroup("g", 1))
		p.refuse(apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "g-0"))
		p.set(members("g", 1, "1", tried)[0])
		p.after(5 * core.WakeRetry)
		p.wrote("while the watch is late", "nominate g-0", "wake g-0")
	})
}

func TestAMemberThatCouldNotBeWokenIsWokenWithItsNextPlace(t *testing.T) {
	run(t, func(p *process) {
		gang := members("g", 3, "1")
		p.set(podGroup("g", 1), node("a", "1"))
		p.set(objects(gang[:2])...)
		p.after(time.Second)
		p.filter(gang[0])
		p.filter(gang[1])
		p.refuse(errors.New("too many requests"))
		p.bind(gang[0], "a")
		p.after(core.WakeRetry / 2)
		p.delete(gang[0])
		p.set(podGroup("g", 2))
		p.after(2 * core.WakeRetry)
		p.refuse(nil)
		p.after(2 * core.WakeRetry)
		p.written()
		p.set(gang[2], node("b", "1"))
		p.after(time.Second)
		p.wrote("when both have a place", "nominate g-1", "nominate g-2", "wake g-1")
	})
}

func TestAPodIsPlacedForItselfUnlessItIsOfAGangThatHasYetToStart(t *testing.T) {
	run(t, func(p *process) {
		gang, single := members("g", 3, "1"), members("", 1, "1")[0]
		single.Name, single.UID, single.Labels = "single", "single", nil
		p.set(node("a", "2"), podGroup("g", 2), single)
		p.set(objects(gang)...)
		p.after(time.Second)
		want := func(when string, alone ...string) {
			t.Helper()
			var got []string
			for _, pod := range append(gang, single) {
				if p.Verbs.PlacesAlone(pod.UID) {
					got = append(got, pod.Name)
				}
			}
			if diff := cmp.Diff(alone, got); diff != "" {
				t.Errorf("pods that are placed for themselves %s (-want +got):\n%s", when, diff)
			}
		}
		want("while two members have places", "single")
		p.start(gang[:2]...)
		want("when the gang has started", "g-2", "single")
	})
}
