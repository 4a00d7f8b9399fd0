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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/gang/record"
	"muster.dev/muster/gang/status"
)

// runAhead runs a Manager for gangs that start without calls of the scheduler.
func runAhead(t *testing.T, test func(p *process)) {
	t.Helper()
	runBy(t, clock.RealClock{}, config.GatesUntilPlace, test)
}

// recorded are the starts that were recorded.
func (p *process) recorded() []record.Record {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.records)
}

// rival is a pod of no gang that waits, and may take a place of a gang.
func rival(name, cpu string) *corev1.Pod { return members(name, 1, cpu, alone)[0] }

// bindTo has the scheduler bind a pod as the watch last showed it.
func (p *process) bindTo(node string, pods ...*corev1.Pod) {
	p.Helper()
	for _, pod := range pods {
		known := p.latest(pod).DeepCopy()
		known.Spec.NodeName = node
		p.set(known)
	}
}

// latest is a pod as the watch last showed it.
func (p *process) latest(pod *corev1.Pod) *corev1.Pod {
	p.Helper()
	for _, known := range p.cluster.Pending() {
		if known.UID == pod.UID {
			return known.Pod
		}
	}
	p.Fatalf("%s does not wait", pod.Name)
	return nil
}

// refuseIt has the scheduler say that a pod fits nowhere.
func (p *process) refuseIt(pod *corev1.Pod) {
	p.Helper()
	next := p.latest(pod).DeepCopy()
	next.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable},
	}
	p.set(next)
}

func TestAGangThatNobodyContestsIsLetGoWithoutNominations(t *testing.T) {
	runAhead(t, func(p *process) {
		pods := members("g", 3, "1", gated)
		p.set(podGroup("g", 3), node("a", "24"))
		p.set(pods[0], pods[1])
		p.after(time.Minute)
		p.wrote("while a member is missing")
		p.set(pods[2])
		p.after(100 * time.Millisecond)
		p.wrote("when it is there", "lift g-0", "lift g-1", "lift g-2")
		if len(p.recorded()) != 1 || p.recorded()[0].Members != 3 {
			t.Errorf("its start was recorded as %+v", p.recorded())
		}
		p.bindTo("a", pods...)
		p.after(time.Minute)
		p.wrote("when all are bound")
	})
}

func TestGangsThatAreLetGoTogetherContestTheirRoom(t *testing.T) {
	runAhead(t, func(p *process) {
		p.set(node("a", "43"))
		for _, name := range []string{"g", "h"} { // beside the first one there is room for two with 16 to spare, and not for four
			p.set(podGroup(name, 2))
		}
		for _, name := range []string{"g", "h"} {
			p.set(objects(members(name, 2, "2", gated))...)
		}
		p.after(100 * time.Millisecond)
		for _, member := range members("h", 2, "2", gated) {
			if _, m, _ := p.Observer.Member(member.UID); m.Room != record.RoomNominated {
				t.Errorf("a member of the second one is %+v", m)
			}
		}
		p.bindTo("a", members("g", 2, "2", gated)...)
		p.after(time.Second)
		p.wrote("in all", "lift g-0", "lift g-1", "lift h-0", "lift h-1", "nominate h-0", "nominate h-1")
	})
}

func TestTheRoomOfAContestedGangIsKeptBeforeItIsLetGo(t *testing.T) {
	runAhead(t, func(p *process) {
		pods, other := members("g", 3, "1", gated), rival("other", "1")
		p.set(podGroup("g", 3), node("a", "4"), other)
		p.refuseIt(other)
		p.set(objects(pods)...)
		p.after(p.limits.Margin - 20*time.Millisecond)
		if _, m, _ := p.Observer.Member(pods[0].UID); m.Stage != "reserved" || m.Room != record.RoomNominated {
			t.Errorf("a member that is not let go yet is %+v", m)
		}
		p.wrote("at first", "nominate g-0", "nominate g-1", "nominate g-2")
		if len(p.recorded()) != 0 {
			t.Error("a start is recorded before the scheduler can know of the nominations")
		}
		p.after(200 * time.Millisecond)
		p.wrote("after the margin", "lift g-0", "lift g-1", "lift g-2")
	})
}

// TestTheMarginIsForPodsThatWaitedWhenTheRoomWasKept has a pod that could take a place of the gang come and go.
func TestTheMarginIsForPodsThatWaitedWhenTheRoomWasKept(t *testing.T) {
	nominations := []string{"nominate g-0", "nominate g-1", "nominate g-2"}
	both := append([]string{"lift g-0", "lift g-1", "lift g-2"}, nominations...)
	for name, test := range map[string]struct {
		before func(p *process, other *corev1.Pod)
		wrote  []string // within less than the margin
	}{
		"nobody waits":               {func(*process, *corev1.Pod) {}, both},
		"it waits":                   {func(p *process, other *corev1.Pod) { p.set(other); p.refuseIt(other) }, nominations},
		"it waits for somebody else": {func(p *process, other *corev1.Pod) { other.Spec.SchedulerName = "x"; p.set(other) }, nominations},
		"it is bound":                {func(p *process, other *corev1.Pod) { p.set(other); p.bindTo("b", other) }, both},
		"it is gone":                 {func(p *process, other *corev1.Pod) { p.set(other); p.refuseIt(other); p.delete(other) }, both},
	} {
		t.Run(name, func(t *testing.T) {
			runAhead(t, func(p *process) {
				p.set(podGroup("g", 3), node("a", "4"))
				test.before(p, rival("other", "1"))
				p.set(objects(members("g", 3, "1", gated))...)
				p.after(p.limits.Margin - 50*time.Millisecond)
				p.wrote("before the margin is over", test.wrote...)
			})
		})
	}
}

// TestAGangWaitsForWhatTheSchedulerMayHaveDecidedBefore has a pod come before the room of a gang is kept: the scheduler may
// have chosen a place of the gang for it, and be slow to say so.
func TestAGangWaitsForWhatTheSchedulerMayHaveDecidedBefore(t *testing.T) {
	lifts, withdrawn := []string{"lift g-0", "lift g-1"}, []string{"nominate g-0", "nominate g-1"}
	for name, test := range map[string]struct {
		becomes func(p *process, other *corev1.Pod)
		waits   time.Duration // at most, after that
		wrote   []string
	}{
		"until it is bound":    {func(p *process, other *corev1.Pod) { p.bindTo("b", other) }, time.Second, lifts},
		"until it is refused":  {func(p *process, other *corev1.Pod) { p.refuseIt(other) }, time.Second, lifts},
		"until it is gone":     {func(p *process, other *corev1.Pod) { p.delete(other) }, time.Second, lifts},
		"for half a minute":    {func(*process, *corev1.Pod) {}, 30 * time.Second, lifts},
		"not for later ones":   {func(p *process, other *corev1.Pod) { p.refuseIt(other); p.set(rival("late", "1")) }, time.Second, lifts},
		"and is planned again": {func(p *process, other *corev1.Pod) { p.bindTo("a", other) }, time.Second, withdrawn},
	} {
		t.Run(name, func(t *testing.T) {
			runAhead(t, func(p *process) {
				pods, other := members("g", 2, "1", gated), rival("other", "1")
				p.set(podGroup("g", 2), node("a", "2"), other)
				p.set(objects(pods)...)
				p.after(10 * time.Second)
				p.wrote("at first", "nominate g-0", "nominate g-1")
				if len(p.recorded()) != 0 {
					t.Error("a start is recorded while the scheduler may have chosen a place of the gang for another pod")
				}
				test.becomes(p, other)
				p.after(test.waits)
				p.wrote("then", test.wrote...)
			})
		})
	}
}

// A placeholder pod of the rescheduler's is still in the room of a member.
func TestNoGateIsLiftedBeforeTheSchedulerKnowsThatTheRoomIsTaken(t *testing.T) {
	runAhead(t, func(p *process) {
		pods := members("g", 2, "1", gated)
		p.blocked = pods[1].UID
		p.set(podGroup("g", 2), node("a", "2"), rival("other", "9"))
		p.set(objects(pods)...)
		p.after(40 * time.Second)
		p.wrote("while it does not know", "nominate g-0", "nominate g-1")
		p.mu.Lock()
		p.blocked = ""
		p.mu.Unlock()
		p.after(5 * time.Second)
		p.wrote("once it knows", "lift g-0", "lift g-1")
	})
}

func TestAPlaceThatIsTakenBeforeTheGatesAreLiftedIsPlannedAnew(t *testing.T) {
	runAhead(t, func(p *process) {
		pods, other := members("g", 2, "1", gated), rival("other", "1")
		p.set(podGroup("g", 2), node("a", "2"), other)
		p.set(objects(pods)...)
		p.after(100 * time.Millisecond)
		p.wrote("at first", "nominate g-0", "nominate g-1")
		p.bindTo("a", other) // by what the scheduler saw before
		p.after(time.Second)
		p.wrote("when a place is lost", "nominate g-0", "nominate g-1") // taken back
		if got, want := p.why("g"), "places for 1 of 2 members; beside the others, 1 of 1 nodes: Insufficient cpu"; got != want {
			t.Errorf("it waits because: %s, want: %s", got, want)
		}
		p.set(node("b", "1"))
		p.after(5 * time.Second)
		p.wrote("with room", "lift g-0", "lift g-1", "nominate g-0", "nominate g-1")
		if len(p.recorded()) != 1 {
			t.Errorf("%d starts are recorded, want 1", len(p.recorded()))
		}
	})
}

func TestAMemberThatTheSchedulerRefusesIsPlannedAnew(t *testing.T) {
	runAhead(t, func(p *process) {
		pods := members("g", 2, "1", gated)
		p.set(podGroup("g", 2), node("a", "1"), node("b", "1"))
		p.set(objects(pods)...)
		p.after(time.Second)
		p.wrote("first", "lift g-0", "lift g-1", "nominate g-0", "nominate g-1")
		at := p.cluster.Assumed(pods[0].UID)
		p.bindTo(at, pods[0])
		p.set(node("c", "1"))
		p.refuseIt(pods[1])
		p.after(time.Second)
		if written := p.written(); !slices.Contains(written, "wake g-1") || p.cluster.Assumed(pods[1].UID) == "" {
			t.Errorf("the member has the place %q, and %v is written", p.cluster.Assumed(pods[1].UID), written)
		}
	})
}

func TestAMemberThatComesLaterFollows(t *testing.T) {
	runAhead(t, func(p *process) {
		pods := members("g", 4, "1", gated)
		p.set(podGroup("g", 2), node("a", "3"))
		p.set(pods[0], pods[1])
		p.after(time.Second)
		p.wrote("at first", "lift g-0", "lift g-1", "nominate g-0", "nominate g-1")
		p.bindTo("a", pods[:2]...)
		p.set(pods[2])
		p.after(time.Second)
		p.wrote("another one", "lift g-2", "nominate g-2")
		p.bindTo("a", pods[2])
		p.set(pods[3])
		p.after(time.Second)
		p.wrote("one without room is the scheduler's", "lift g-3")
	})
}

func TestASchedulerThatIsNewIsToldOfReservationsAgain(t *testing.T) {
	runAhead(t, func(p *process) {
		victim := members("low", 1, "1", alone, on("a"), ofPriority(-1))[0]
		grace := int64(600)
		victim.Spec.TerminationGracePeriodSeconds = &grace
		pods := members("g", 2, "1", gated)
		p.set(podGroup("g", 2), node("a", "2"), victim)
		p.set(objects(pods)...)
		p.after(10 * time.Second)
		p.wrote("with a victim that takes its time", "evict low-0", "nominate g-0", "nominate g-1")
		p.SchedulerChanged()
		p.after(time.Second)
		p.wrote("when another scheduler leads", "wake g-0", "wake g-1")
		p.after(time.Second)
		p.wrote("then")
		for _, pod := range pods { // the watch shows that
			p.set(p.latest(pod))
		}
		p.delete(victim)
		p.after(time.Second)
		p.wrote("when the victim is gone", "lift g-0", "lift g-1")
	})
}

func TestAGangWithoutRoomIsNotLetGo(t *testing.T) {
	runAhead(t, func(p *process) {
		p.set(podGroup("g", 3), node("a", "2"))
		p.set(objects(members("g", 3, "1", gated))...)
		p.after(10 * time.Minute)
		p.wrote("without room")
	})
}

func TestOfTwoGangsForTheRoomOfOneTheSecondWaits(t *testing.T) {
	runAhead(t, func(p *process) {
		p.set(podGroup("g", 2), podGroup("h", 2), node("a", "3"))
		g, h := members("g", 2, "1", gated), members("h", 2, "1", gated)
		p.set(objects(g)...)
		p.set(objects(h)...)
		p.after(time.Second)
		p.wrote("of two", "lift g-0", "lift g-1", "nominate g-0", "nominate g-1")
		p.bindTo("a", g...)
		p.after(time.Minute)
		p.wrote("then")
		p.delete(g...)
		p.after(time.Second)
		p.wrote("when the first is gone", "lift h-0", "lift h-1", "nominate h-0", "nominate h-1")
	})
}

func TestAGangWaitsForANominationThatIsWrittenAgain(t *testing.T) {
	runAhead(t, func(p *process) {
		p.mu.Lock()
		p.deaf = "g-0"
		p.mu.Unlock()
		p.set(podGroup("g", 2), node("a", "3"))
		p.set(objects(members("g", 3, "1", gated))...)
		p.after(core.WakeRetry - 100*time.Millisecond)
		p.wrote("while one of three has none, with two that would be enough", "nominate g-0", "nominate g-1", "nominate g-2")
		p.after(time.Second)
		p.wrote("then", "lift g-0", "lift g-1", "lift g-2", "nominate g-0")
	})
}

// nominatedBefore is the change that a former process has written to a pod.
func nominatedBefore(node string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.NominatedNodeName = node
		pod.ManagedFields = []metav1.ManagedFieldsEntry{{
			Manager: cluster.FieldManager, FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:nominatedNodeName":{}}}`),
		}}
	}
}

func TestAProcessGoesOnWithTheRoomThatTheFormerOneKept(t *testing.T) {
	for name, evicts := range map[string]bool{"which evicts": true, "which evicts nobody": false} {
		t.Run(name, func(t *testing.T) {
			runAhead(t, func(p *process) {
				victim := leaving(members("low", 1, "1", alone, on("a"), grace(600), ofPriority(-1))[0])
				if !evicts {
					p.limit(func(l *Limits) { l.EvictNobody = true })
				}
				p.set(podGroup("g", 2), node("a", "2"), victim)
				pods := members("g", 2, "1", gated, nominatedBefore("a"))
				p.set(objects(pods)...)
				p.after(time.Second)
				if !evicts {
					p.wrote("at first")
					p.after(time.Minute)
					p.wrote("in the end", "nominate g-0", "nominate g-1") // taken back
					return
				}
				p.wrote("at first", "wake g-0", "wake g-1")
				for _, pod := range pods { // the watch shows that
					p.set(p.latest(pod))
				}
				p.delete(victim)
				p.after(time.Second)
				p.wrote("when the victim is gone", "lift g-0", "lift g-1")
			})
		})
	}
}

// TestAProcessMovesNoRoomThatTheFormerOneKept has members nominated as no plan of this process would have it by chance:
// while they moved, one write after the other, others would come to where they were.
func TestAProcessMovesNoRoomThatTheFormerOneKept(t *testing.T) {
	nodes := []string{"c", "e", "b", "d", "a"}
	for _, test := range []struct {
		name    string
		victims []string // the nodes on which room has to be made yet
	}{
		{name: "that is free"},
		{name: "that victims are to leave in part", victims: []string{"b", "e"}},
		{name: "that victims are to leave", victims: nodes},
	} {
		t.Run(test.name, func(t *testing.T) {
			runAhead(t, func(p *process) {
				p.set(podGroup("g", int64(2*len(nodes))))
				for _, name := range []string{"a", "b", "c", "d", "e"} {
					p.set(node(name, "2"))
				}
				p.set(node("f", "1900m")) // has room for one, and is the better one
				if len(test.victims) == 0 {
					p.set(node("g", "16"), node("h", "16"))
				}
				for _, name := range test.victims {
					p.set(leaving(members("on-"+name, 1, "2", alone, on(name), grace(600), ofPriority(-1))[0]))
				}
				var wakes []string
				for i, pod := range members("g", 2*len(nodes), "1", gated) { // two on each
					nominatedBefore(nodes[i/2])(pod)
					p.set(pod)
					wakes = append(wakes, "wake "+pod.Name)
				}
				p.after(time.Second)
				p.wrote("once it has planned", wakes...)
			})
		})
	}
}

func TestAGangWhoseMembersHaveNoGateIsToldSo(t *testing.T) {
	runAhead(t, func(p *process) {
		p.set(podGroup("g", 3), node("a", "24"))
		p.set(objects(members("g", 2, "1"))...)
		p.after(time.Second)
		o, _ := p.Publisher.Observe(membership.Key{Label: v1alpha1.LabelX, NamespacedName: types.NamespacedName{Namespace: "default", Name: "g"}})
		want := "2 of its members have no gate, so that kube-scheduler starts them one by one: " +
			"is the policy there that 'muster gate-policy' prints?"
		if o.Note != want {
			t.Errorf("told: %q, want: %q", o.Note, want)
		}
	})
}

func TestWhatHasNoPlaceIsKeptOrLeftToTheScheduler(t *testing.T) {
	for waits, want := range map[bool][]string{true: nil, false: {"lift g-2"}} {
		t.Run(fmt.Sprint(waits), func(t *testing.T) {
			runAhead(t, func(p *process) {
				p.limit(func(l *Limits) { l.WaitWhenShort = waits })
				pods := members("g", 3, "1", gated)
				p.set(podGroup("g", 2), node("a", "2"))
				p.set(pods[0], pods[1])
				p.after(time.Second)
				p.written()
				p.bindTo("a", pods[:2]...)
				p.set(pods[2])
				p.after(time.Minute)
				p.wrote("without room", want...)
			})
		})
	}
}

func TestAPlaceThatWasShownToBeFreeIsReservedAfterAWhile(t *testing.T) {
	runAhead(t, func(p *process) {
		pods := members("g", 3, "1", gated)
		p.set(podGroup("g", 3), node("a", "20"))
		p.mu.Lock()
		p.trouble = func(ctx context.Context) error { // its start is not recorded for a while
			select {
			case <-ctx.Done():
			case <-time.After(10 * time.Second):
			}
			return nil
		}
		p.mu.Unlock()
		p.set(objects(pods)...)
		p.after(time.Second)
		p.wrote("at first")
		p.after(4 * time.Second)
		p.wrote("after a while", "nominate g-0", "nominate g-1", "nominate g-2")
		p.after(time.Minute)
		p.wrote("in the end", "lift g-0", "lift g-1", "lift g-2")
	})
}

func TestAPlaceThatIsTakenWhileTheStartIsRecordedIsPlannedAnew(t *testing.T) {
	runAhead(t, func(p *process) {
		pods, other := members("g", 2, "1", gated), rival("other", "1")
		p.set(podGroup("g", 2), node("a", "2"), other)
		p.refuseIt(other)
		p.mu.Lock()
		p.trouble = func(context.Context) error {
			p.bindTo("a", other)
			return nil
		}
		p.mu.Unlock()
		p.set(objects(pods)...)
		p.after(5 * time.Second)
		p.wrote("when a place is lost", "nominate g-0", "nominate g-0", "nominate g-1", "nominate g-1") // taken back
	})
}

func TestAGateThatCouldNotBeLiftedIsLiftedLater(t *testing.T) {
	runAhead(t, func(p *process) {
		p.refuse(errors.New("the API server is away"))
		p.set(podGroup("g", 2), node("a", "24"))
		p.set(objects(members("g", 2, "1", gated))...)
		p.after(core.LiftRetry / 2)
		p.wrote("when their gates could not be lifted", "lift g-0", "lift g-1", "nominate g-0", "nominate g-1")
		p.refuse(nil)
		p.after(2 * core.LiftRetry)
		p.wrote("when it is back", "lift g-0", "lift g-1")
	})
}

// TestAGateThatIsLiftedLateWaitsUntilItsRoomIsKept has too many members for all gates to be lifted at the same
// time. That nobody contests their room was shown for that time.
func TestAGateThatIsLiftedLateWaitsUntilItsRoomIsKept(t *testing.T) {
	runAhead(t, func(p *process) {
		const first, last = 16, 2
		p.mu.Lock()
		p.slow = 3 * time.Second
		p.mu.Unlock()
		p.set(podGroup("g", first+last), node("a", "40"))
		p.set(objects(members("g", first+last, "1", gated))...)
		count := func(when string, lifts, nominations int) {
			t.Helper()
			written := p.written()
			lifted := slices.DeleteFunc(slices.Clone(written), func(w string) bool { return !strings.HasPrefix(w, "lift ") })
			if len(lifted) != lifts || len(written)-len(lifted) != nominations {
				t.Errorf("%s: %v is written, want %d lifts and %d nominations", when, written, lifts, nominations)
			}
		}
		p.after(2 * time.Second)
		count("at first", first, 0)
		p.after(1500 * time.Millisecond)
		count("when there is time for the others, whose room is kept then", last, last)
	})
}

func TestAGateThatCouldNotBeLiftedWaitsUntilItsRoomIsKept(t *testing.T) {
	runAhead(t, func(p *process) {
		failing := func(nomination string) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.deaf = nomination
		}
		p.refuse(errors.New("the API server is away"))
		failing("g-0")
		p.set(podGroup("g", 2), node("a", "24"))
		p.set(objects(members("g", 2, "1", gated))...)
		p.after(core.LiftRetry / 2)
		p.wrote("when their gates could not be lifted", "lift g-0", "lift g-1", "nominate g-0", "nominate g-1")
		p.refuse(nil)
		failing("g-0")
		p.after(core.LiftRetry)
		p.wrote("when one has a nomination", "lift g-1", "nominate g-0")
		p.after(core.LiftRetry + core.WakeRetry)
		p.wrote("when the other has one", "lift g-0", "nominate g-0")
	})
}

func TestAGateThatCouldNotBeLiftedStaysOnForAnotherPodGroup(t *testing.T) {
	group := func(uid types.UID, minMember int64) *unstructured.Unstructured {
		g := podGroup("g", minMember)
		g.SetUID(uid)
		return g
	}
	runAhead(t, func(p *process) {
		p.refuse(errors.New("the API server is away"))
		p.set(group("former", 2), node("a", "24"))
		p.set(objects(members("g", 2, "1", gated))...)
		p.after(core.LiftRetry / 2)
		p.wrote("when their gates could not be lifted", "lift g-0", "lift g-1", "nominate g-0", "nominate g-1")
		p.refuse(nil)
		p.set(group("present", 3))
		p.after(2 * core.LiftRetry)
		p.wrote("when another PodGroup wants a third one")
		p.set(objects(members("g", 3, "1", gated)[2:])...)
		p.after(3 * core.LiftRetry)
		p.wrote("when it has come", "lift g-0", "lift g-1", "lift g-2")
	})
}

func TestAGateIsLiftedLaterOnlyOnceTheRoomIsKept(t *testing.T) {
	runAhead(t, func(p *process) {
		pods := members("g", 3, "1", gated)
		p.set(podGroup("g", 2), node("a", "3"), pods[0], pods[1])
		p.after(time.Second)
		p.wrote("at first", "lift g-0", "lift g-1", "nominate g-0", "nominate g-1")
		p.bindTo("a", pods[:2]...)
		p.mu.Lock()
		p.deaf = "g-2"
		p.mu.Unlock()
		p.set(pods[2])
		p.after(core.WakeRetry - 100*time.Millisecond)
		p.wrote("of another one that could not be nominated", "nominate g-2")
		p.after(time.Second)
		p.wrote("then", "lift g-2", "nominate g-2")
	})
}

func TestAGateWhoseWriteComesLateIsNotLiftedWithoutItsRoom(t *testing.T) {
	runAhead(t, func(p *process) {
		pods, other := members("g", 100, "1", gated), rival("other", "1")
		p.set(podGroup("g", 100), node("a", "100"), other)
		p.refuseIt(other)
		p.set(objects(pods)...)
		p.mu.Lock()
		p.slow = 200 * time.Millisecond // so that gates wait for their turn
		p.mu.Unlock()
		p.after(p.limits.Margin + 100*time.Millisecond)
		before, lifts := p.written(), 0
		for _, pod := range pods {
			if !slices.Contains(before, "lift "+pod.Name) { // somebody takes its nomination back
				taken := p.latest(pod).DeepCopy()
				taken.Status.NominatedNodeName = ""
				p.set(taken)
			}
		}
		for range 40 {
			p.after(200 * time.Millisecond)
			for _, write := range p.written() {
				name, lift := strings.CutPrefix(write, "lift ")
				if !lift {
					continue
				}
				lifts++
				if now := p.latest(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}); now.Status.NominatedNodeName != "a" {
					t.Errorf("the gate of %s is lifted without its room", name)
				}
			}
		}
		if lifts == 0 {
			t.Error("no gate waited for its turn")
		}
	})
}

// Three members were refused once, and there is room for two. The two that come first are refused again and again, for a
// reason that muster does not know.
func TestMembersThatTheSchedulerRefusesKeepNoOtherFromItsTurn(t *testing.T) {
	runAhead(t, func(p *process) {
		pods := members("g", 4, "1", gated)
		p.set(podGroup("g", 2), node("a", "1"), node("b", "1"), node("c", "1"), node("d", "1"))
		p.set(objects(pods)...)
		p.after(time.Second)
		p.bindTo(p.cluster.Assumed(pods[0].UID), pods[0])
		taken := rival("other", "1")
		taken.Spec.NodeName = p.cluster.Assumed(pods[3].UID)
		p.set(taken)
		for _, pod := range pods[1:] {
			p.refuseIt(pod)
		}
		places := 0
		for range 30 {
			p.after(time.Second)
			if p.cluster.Assumed(pods[3].UID) != "" {
				places++
			}
		}
		if places == 0 {
			t.Error("the last member gets no place")
		}
		p.written()
		p.after(time.Minute)
		if written := p.written(); len(written) > 30 {
			t.Errorf("%d writes about three members in a minute: %v", len(written), written)
		}
		if o, _ := p.Publisher.Observe(named("g")); o.Reason != status.Unschedulable || !strings.Contains(o.Message, "PodScheduled") {
			t.Errorf("told: %q, %q", o.Reason, o.Message)
		}
	})
}
