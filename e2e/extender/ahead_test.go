package extender_test

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// ahead is a muster that starts gangs of a scheduler that knows nothing of it, and a policy that gates members.
type ahead struct{ *witness }

// startAhead runs both until the test ends, with some of muster's configuration.
func (c *cluster) startAhead(o muster.Options) *ahead {
	c.Helper()
	o.Selection, o.Gates = muster.Muster, muster.UntilPlace
	a := &ahead{c.serve(o).watch()}
	a.passesMuster = workload.Labelled(v1alpha1.LabelAhead, "true")
	return a
}

// alone is startAhead with one scheduler.
func (c *cluster) alone(o muster.Options) *ahead {
	c.Helper()
	c.Schedule("")
	return c.startAhead(o)
}

// rests is awaits, and it stays right while the others are gated, or are refused by the scheduler.
func (a *ahead) rests(right func(bound map[string]int) error) {
	a.Helper()
	a.awaits(right)
	a.Eventually("all other pods are gated or refused", func() error {
		for name, pod := range a.Pods() {
			if pod.Spec.NodeName == "" && !unschedulable(pod) && !muster.Gated(pod) {
				return fmt.Errorf("pod %s is neither gated nor refused", name)
			}
		}
		return nil
	})
	a.stays(right, corev1.DefaultSchedulerName)
}

// areGated fails unless pods are gated.
func (a *ahead) areGated(names ...string) {
	a.Helper()
	for _, name := range names {
		if pod := a.Pod(name); !muster.Gated(pod) {
			a.Errorf("%s has gates %v, on node %q", name, pod.Spec.SchedulingGates, pod.Spec.NodeName)
		}
	}
}

// awaitReserved waits until members are nominated while they are gated.
func (a *ahead) awaitReserved(names ...string) {
	a.Helper()
	a.Eventually("members are nominated", func() error {
		for _, name := range names {
			if pod := a.Pod(name); !muster.Gated(pod) || pod.Status.NominatedNodeName == "" {
				return fmt.Errorf("%s has gates %v, and is nominated to %q", name, pod.Spec.SchedulingGates, pod.Status.NominatedNodeName)
			}
		}
		return nil
	})
}

func TestAheadAGangStartsWhole(t *testing.T) {
	c := newCluster(t, workload.NewNodes("node", 5, "4")...)
	c.createPodGroups(workload.NewPodGroup("g", 4))
	a := c.alone(muster.Options{})
	pods := workload.NewMembers("g", 4, "3")
	c.createPods(pods[:3]...)
	a.rests(exactly(map[string]int{}))
	a.areGated("g-0", "g-1", "g-2")
	c.createPods(pods[3])
	a.rests(exactly(map[string]int{"g": 4}))
	if r, is := c.record("g"); !is || r.Members != 4 || r.MinMember != 4 {
		t.Errorf("the record is %+v, there is one: %t", r, is)
	}
	if got := a.calls("filter", "ok") + a.calls("bind", "ok"); got > 0 {
		t.Errorf("%d calls reached muster", got)
	}
}

func TestAheadOfGangsForTheRoomOfOneTheOthersStayGated(t *testing.T) {
	const each = 4
	c := newCluster(t, workload.NewNodes("node", each+1, "4")...)
	c.createPodGroups(workload.NewPodGroup("a", each), workload.NewPodGroup("b", each), workload.NewPodGroup("c", each))
	a := c.alone(muster.Options{})
	c.createPods(interleaved(workload.NewMembers("a", each, "3"), workload.NewMembers("b", each, "3"), workload.NewMembers("c", each, "3"))...)
	over := map[string]bool{}
	for i := range 3 {
		a.rests(whole(i+1, each))
		for name := range a.everBound() {
			if !over[name] {
				over[name] = true
				c.deletePods(allOf + name)
			}
		}
	}
}

func TestAheadAGangWithoutRoomStaysGated(t *testing.T) {
	c := newCluster(t, workload.NewNodes("node", 3, "4")...)
	c.createPodGroups(workload.NewPodGroup("g", 4))
	a := c.alone(muster.Options{})
	c.createPods(workload.NewMembers("g", 4, "3")...)
	a.awaitWhy("g", "places for 3 of 4 members")
	a.rests(exactly(map[string]int{}))
	a.areGated("g-0", "g-1", "g-2", "g-3")
	c.createPods(workload.NewPod("single", "3")) // nothing is kept for a gang that cannot start
	a.rests(exactly(map[string]int{"": 1}))
	c.createNodes(workload.NewNodes("node", 6, "4")[4:]...)
	a.rests(exactly(map[string]int{"": 1, "g": 4}))
}

func TestAheadMembersThatComeLaterFollowAndLostOnesAreReplaced(t *testing.T) {
	c := newCluster(t, workload.NewNodes("node", 4, "4")...)
	c.createPodGroups(workload.NewPodGroup("g", 2))
	a := c.alone(muster.Options{})
	pods := workload.NewMembers("g", 5, "3")
	c.createPods(pods[:2]...)
	a.rests(exactly(map[string]int{"g": 2}))
	c.createPods(pods[2])
	a.rests(exactly(map[string]int{"g": 3}))
	c.RemovePod("g-0")
	c.RemovePod("g-1")
	c.createPods(pods[3])
	a.rests(exactly(map[string]int{"g": 4}))
	c.createPods(pods[4])
	a.rests(exactly(map[string]int{"g": 5}))
}

func TestAheadAGangHasPodsOfLowerPriorityEvicted(t *testing.T) {
	nodes := workload.NewNodes("node", 5, "4")
	c := newCluster(t, nodes...)
	c.createPriorityClass("high", 1000)
	c.createPodGroups(workload.NewPodGroup("g", 3))
	c.occupy("low", nodes[:3])
	c.occupy("high", nodes[3:4], workload.OfPriority("high"))
	a := c.alone(muster.Options{})
	c.createPods(workload.NewMembers("g", 3, "3", workload.OfPriority("high"))...)
	a.rests(exactly(map[string]int{"": 4, "g": 3}))
	if got := len(c.left()); got != 5 {
		t.Errorf("pods that are left: %v, want one of low priority, one of high and the gang", c.left())
	}
}

// TestAheadAGangThatStaysShortIsBrokenUp has the scheduler put a member on its node and wait for a volume that nobody
// makes, which is its own to know.
func TestAheadAGangThatStaysShortIsBrokenUp(t *testing.T) {
	lab.Long(t)
	c := newCluster(t, workload.NewNodes("node", 4, "4")...)
	c.createPodGroups(workload.NewPodGroup("g", 2))
	a := c.alone(muster.Options{Text: "gangs: {whenShort: Break, scheduleTimeout: 2s}"})
	pods := workload.NewMembers("g", 4, "3")
	c.newLateClaim("late").used(pods[1])
	c.createPods(pods[:2]...)
	a.awaits(exactly(map[string]int{"g": 1}))
	c.Eventually("the one that is bound is evicted", func() error {
		if left := c.left(); slices.Contains(left, "g-0") {
			return fmt.Errorf("pods that are left: %v", left)
		}
		return nil
	})
	c.RemovePod("g-1")
	c.createPods(pods[2:]...)
	c.Eventually("the pods that a controller would replace are bound", func() error {
		for _, name := range []string{"g-2", "g-3"} {
			if c.Pod(name).Spec.NodeName == "" {
				return fmt.Errorf("%s is not", name)
			}
		}
		return nil
	})
}

func TestAheadNobodyIsEvictedWhereThatDoesNotHelpTheWholeGang(t *testing.T) {
	nodes := workload.NewNodes("node", 4, "4")
	c := newCluster(t, append(nodes, workload.NewNode("apart", "8"))...)
	c.createPriorityClass("high", 1000)
	c.createPodGroups(workload.NewPodGroup("g", 4), workload.NewPodGroup("later", 1))
	c.occupy("low", nodes[:3])
	c.occupy("high", nodes[3:], workload.OfPriority("high"))
	c.createPods(workload.NewPod("apart", "8", workload.On("apart")))
	a := c.alone(muster.Options{})
	c.createPods(workload.NewMembers("g", 4, "3", workload.OfPriority("high"), beside("apart"))...)
	a.awaitWhy("g", "places for 0 of 4 members")
	// Muster has thought of evictions for g before it has pods evicted for a gang that comes later.
	c.createPods(workload.NewMembers("later", 1, "8", workload.OfPriority("high"))...)
	a.rests(exactly(map[string]int{"": 5, "later": 1}))
	c.wantLeft("g-0", "g-1", "g-2", "g-3", "high-0", "low-0", "low-1", "low-2", "later-0")
}

// beside keeps a pod from a node.
func beside(node string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		elsewhere := corev1.NodeSelectorRequirement{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpNotIn, Values: []string{node}}
		pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{elsewhere}}},
			},
		}}
	}
}

// reserved creates a gang of three whose room is kept on three nodes, until a pod goes that takes its time. Others of its
// priority want that room, and pods of no priority as well.
func reserved(t *testing.T, start func(*cluster, muster.Options) *ahead) *ahead {
	t.Helper()
	nodes := workload.NewNodes("node", 3, "4")
	c := newCluster(t, nodes...)
	c.createPriorityClass("high", 1000)
	c.createPodGroups(workload.NewPodGroup("g", 3))
	c.occupy("slow", nodes[:1], func(pod *corev1.Pod) { pod.Spec.TerminationGracePeriodSeconds = new(int64(3600)) })
	a := start(c, muster.Options{})
	c.createPods(workload.NewMembers("g", 3, "3", workload.OfPriority("high"))...)
	a.awaitReserved("g-0", "g-1", "g-2")
	c.EventuallyTrue("a victim is being deleted", func() bool { return c.Pod("slow-0").DeletionTimestamp != nil })
	return a
}

// race has pods come that fit where members of the gang are to go, and fails if the scheduler puts one there.
func (a *ahead) race(name string) {
	a.Helper()
	for i := range 4 {
		a.createPods(
			workload.NewPod(fmt.Sprintf("%s-equal-%d", name, i), "2", workload.OfPriority("high")),
			workload.NewPod(fmt.Sprintf("%s-low-%d", name, i), "2"),
		)
	}
	a.rests(exactly(map[string]int{"": 1}))
	a.areGated("g-0", "g-1", "g-2")
}

// ends has the pod go that is waited for, and the gang start.
func (a *ahead) ends() {
	a.Helper()
	a.RemovePod("slow-0")
	a.rests(exactly(map[string]int{"": 1, "g": 3}))
}

func TestAheadNobodyOfTheSamePriorityGetsReservedRoom(t *testing.T) {
	a := reserved(t, (*cluster).alone)
	a.race("rival")
	a.ends()
}

func TestAheadRoomStaysReservedWhileMusterIsAway(t *testing.T) {
	a := reserved(t, (*cluster).alone)
	a.Must(a.Crash())
	for i := range 4 {
		a.createPods(workload.NewPod(fmt.Sprintf("rival-%d", i), "2", workload.OfPriority("high")))
	}
	a.Eventually("the scheduler has refused them", func() error {
		for i := range 4 {
			if pod := a.Pod(fmt.Sprintf("rival-%d", i)); !unschedulable(pod) {
				return fmt.Errorf("%s is not, on node %q", pod.Name, pod.Spec.NodeName)
			}
		}
		return nil
	})
	a.areGated("g-0", "g-1", "g-2")
	a.Must(a.Restart(t.Context()))
	a.ends()
}

func TestAheadASchedulerThatIsStartedAnewKeepsReservedRoom(t *testing.T) {
	t.Parallel()
	for name, replicas := range map[string]int{"one that is started again": 1, "another one that was there": 2} {
		t.Run(name, func(t *testing.T) {
			lab.LongUnless(t, replicas == 1)
			var schedulers *controlplane.SchedulerReplicas
			a := reserved(t, func(c *cluster, o muster.Options) *ahead {
				var err error
				schedulers, err = c.StartSchedulerReplicas(t.Context(), make([]controlplane.SchedulerOptions, replicas)...)
				c.Must(err)
				c.Cleanup(schedulers.Stop)
				return c.startAhead(o)
			})
			leader, err := schedulers.AwaitLeader(t.Context())
			a.Must(err)
			before := a.Pod("g-0").ResourceVersion
			schedulers.Kill(leader)
			if replicas == 1 {
				a.Must(schedulers.Start(t.Context(), leader))
			}
			_, err = schedulers.AwaitLeader(t.Context())
			a.Must(err)
			a.EventuallyTrue("muster has touched what is reserved", func() bool { return a.Pod("g-0").ResourceVersion != before })
			a.race("rival")
			a.ends()
		})
	}
}
