package extender_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// aheadProfile has muster start gangs of a scheduler that knows nothing of it.
const aheadProfile = "profiles: [{schedulerName: default-scheduler, nodeSelection: Ahead}]\n"

// ahead is a muster, schedulers that know nothing of it, and a policy that gates members.
type ahead struct {
	*witness
	schedulers *controlplane.SchedulerReplicas
}

// startAhead runs them until the test ends, with more of muster's configuration.
func (c *cluster) startAhead(replicas int, o serving) *ahead {
	c.Helper()
	o.config = aheadProfile + o.config
	s := c.serve(o)
	c.applyGatePolicy(s)
	a := &ahead{witness: s.watch()}
	var err error
	if a.schedulers, err = shared.StartSchedulerReplicas(c.Context(), make([]controlplane.SchedulerOptions, replicas)...); err != nil {
		c.Fatal(err)
	}
	c.Cleanup(a.schedulers.Stop)
	return a
}

// rests is awaits, and it stays right while the others are gated, or are refused by the scheduler.
func (a *ahead) rests(right func(bound map[string]int) error) {
	a.Helper()
	a.awaits(right)
	until := time.Now().Add(2 * quiet)
	a.eventually("some time has passed", func() error {
		if err := right(a.everBound()); err != nil {
			a.Fatal(err)
		}
		pods, err := a.pods()
		if err != nil {
			return err
		}
		for name, pod := range pods {
			if pod.Spec.NodeName == "" && !unschedulable(pod) && !muster.Gated(pod) {
				return fmt.Errorf("pod %s is neither gated nor refused", name)
			}
		}
		if left := time.Until(until); left > 0 {
			return fmt.Errorf("%s are left", left)
		}
		return nil
	})
	if over := a.overcommitted(); len(over) > 0 {
		a.Errorf("nodes were overcommitted: %v", over)
	}
}

// areGated fails unless pods are gated.
func (a *ahead) areGated(names ...string) {
	a.Helper()
	for _, name := range names {
		if pod := a.server.pod(name); !muster.Gated(pod) {
			a.Errorf("%s has gates %v, on node %q", name, pod.Spec.SchedulingGates, pod.Spec.NodeName)
		}
	}
}

// awaitReserved waits until members are nominated while they are gated.
func (a *ahead) awaitReserved(names ...string) {
	a.Helper()
	a.eventually("members are nominated", func() error {
		for _, name := range names {
			if pod := a.server.pod(name); !muster.Gated(pod) || pod.Status.NominatedNodeName == "" {
				return fmt.Errorf("%s has gates %v, and is nominated to %q", name, pod.Spec.SchedulingGates, pod.Status.NominatedNodeName)
			}
		}
		return nil
	})
}

// remove deletes a pod at once, as a kubelet would when its grace period is over.
func (c *cluster) remove(name string) {
	c.Helper()
	err := c.client.CoreV1().Pods(workload.Namespace).Delete(c.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))})
	if err != nil {
		c.Fatal(err)
	}
}

func TestAheadAGangStartsWhole(t *testing.T) {
	c := newCluster(t, newNodes(5, "4")...)
	c.createPodGroups(newPodGroup("g", 4))
	a := c.startAhead(1, serving{})
	pods := members("g", 4, "3")
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
	c := newCluster(t, newNodes(each+1, "4")...)
	c.createPodGroups(newPodGroup("a", each), newPodGroup("b", each), newPodGroup("c", each))
	a := c.startAhead(1, serving{})
	c.createPods(interleaved(members("a", each, "3"), members("b", each, "3"), members("c", each, "3"))...)
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
	c := newCluster(t, newNodes(3, "4")...)
	c.createPodGroups(newPodGroup("g", 4))
	a := c.startAhead(1, serving{})
	c.createPods(members("g", 4, "3")...)
	a.awaitWhy("g", "places for 3 of 4 members")
	a.rests(exactly(map[string]int{}))
	a.areGated("g-0", "g-1", "g-2", "g-3")
	c.createPods(newPod("single", "3")) // nothing is kept for a gang that cannot start
	a.rests(exactly(map[string]int{"": 1}))
	c.create(&workload.Cluster{Nodes: newNodes(6, "4")[4:]})
	a.rests(exactly(map[string]int{"": 1, "g": 4}))
}

func TestAheadMembersThatComeLaterFollowAndLostOnesAreReplaced(t *testing.T) {
	c := newCluster(t, newNodes(4, "4")...)
	c.createPodGroups(newPodGroup("g", 2))
	a := c.startAhead(1, serving{})
	pods := members("g", 5, "3")
	c.createPods(pods[:2]...)
	a.rests(exactly(map[string]int{"g": 2}))
	c.createPods(pods[2])
	a.rests(exactly(map[string]int{"g": 3}))
	c.remove("g-0")
	c.remove("g-1")
	c.createPods(pods[3])
	a.rests(exactly(map[string]int{"g": 4}))
	c.createPods(pods[4])
	a.rests(exactly(map[string]int{"g": 5}))
}

func TestAheadAGangHasPodsOfLowerPriorityEvicted(t *testing.T) {
	nodes := newNodes(5, "4")
	c := newCluster(t, nodes...)
	c.createPriorityClass("high", 1000)
	c.createPodGroups(newPodGroup("g", 3))
	c.occupy("low", nodes[:3])
	c.occupy("high", nodes[3:4], withPriority("high"))
	a := c.startAhead(1, serving{})
	c.createPods(members("g", 3, "3", withPriority("high"))...)
	a.rests(exactly(map[string]int{"": 4, "g": 3}))
	if got := len(c.left()); got != 5 {
		t.Errorf("pods that are left: %v, want one of low priority, one of high and the gang", c.left())
	}
}

// TestAheadAGangThatStaysShortIsBrokenUp has the scheduler put a member on its node and wait for a volume that nobody
// makes, which is its own to know.
func TestAheadAGangThatStaysShortIsBrokenUp(t *testing.T) {
	c := newCluster(t, newNodes(4, "4")...)
	c.createPodGroups(newPodGroup("g", 2))
	a := c.startAhead(1, serving{config: "gangs: {whenShort: Break, breakAfter: 10s}"})
	pods := members("g", 4, "3")
	c.newLateClaim("late").used(pods[1])
	c.createPods(pods[:2]...)
	a.awaits(exactly(map[string]int{"g": 1}))
	c.eventually("the one that is bound is evicted", func() error {
		if left := c.left(); slices.Contains(left, "g-0") {
			return fmt.Errorf("pods that are left: %v", left)
		}
		return nil
	})
	c.remove("g-1")
	c.createPods(pods[2:]...)
	c.eventually("those that a controller would make anew are bound", func() error {
		for _, name := range []string{"g-2", "g-3"} {
			if c.pod(name).Spec.NodeName == "" {
				return fmt.Errorf("%s is not", name)
			}
		}
		return nil
	})
}

func TestAheadNobodyIsEvictedWhereThatDoesNotHelpTheWholeGang(t *testing.T) {
	nodes := newNodes(4, "4")
	c := newCluster(t, nodes...)
	c.createPriorityClass("high", 1000)
	c.createPodGroups(newPodGroup("g", 4))
	c.occupy("low", nodes[:3])
	c.occupy("high", nodes[3:], withPriority("high"))
	a := c.startAhead(1, serving{config: "gangs: {preemptAfter: 100ms}"})
	c.createPods(members("g", 4, "3", withPriority("high"))...)
	a.rests(exactly(map[string]int{"": 4}))
	c.wantLeft("g-0", "g-1", "g-2", "g-3", "high-0", "low-0", "low-1", "low-2")
}

// reserved is a gang of three for which room is kept on three nodes, until a pod goes that takes its time. Others of
// its priority want that room, and pods of no priority as well.
func reserved(t *testing.T, replicas int, o serving) *ahead {
	t.Helper()
	nodes := newNodes(3, "4")
	c := newCluster(t, nodes...)
	c.createPriorityClass("high", 1000)
	c.createPodGroups(newPodGroup("g", 3))
	c.occupy("slow", nodes[:1], func(pod *corev1.Pod) { pod.Spec.TerminationGracePeriodSeconds = new(int64(3600)) })
	o.config = "gangs: {preemptAfter: 100ms}\n" + o.config
	a := c.startAhead(replicas, o)
	c.createPods(members("g", 3, "3", withPriority("high"))...)
	a.awaitReserved("g-0", "g-1", "g-2")
	c.eventually("a victim is being deleted", func() error {
		if c.pod("slow-0").DeletionTimestamp == nil {
			return errors.New("it is not")
		}
		return nil
	})
	return a
}

// race has pods come that fit where members of the gang are to go, and fails if the scheduler puts one there.
func (a *ahead) race(name string) {
	a.Helper()
	for i := range 4 {
		a.createPods(newPod(fmt.Sprintf("%s-equal-%d", name, i), "2", withPriority("high")), newPod(fmt.Sprintf("%s-low-%d", name, i), "2"))
	}
	a.rests(exactly(map[string]int{"": 1}))
	a.areGated("g-0", "g-1", "g-2")
}

// ends has the pod go that is waited for, and the gang start.
func (a *ahead) ends() {
	a.Helper()
	a.remove("slow-0")
	a.rests(exactly(map[string]int{"": 1, "g": 3}))
}

func TestAheadNobodyOfTheSamePriorityGetsReservedRoom(t *testing.T) {
	a := reserved(t, 1, serving{})
	a.race("rival")
	a.ends()
}

func TestAheadRoomStaysReservedWhileMusterIsAway(t *testing.T) {
	a := reserved(t, 1, serving{})
	a.process.Kill()
	for i := range 4 {
		a.createPods(newPod(fmt.Sprintf("rival-%d", i), "2", withPriority("high")))
	}
	a.eventually("the scheduler has refused them", func() error {
		for i := range 4 {
			if pod := a.server.pod(fmt.Sprintf("rival-%d", i)); !unschedulable(pod) {
				return fmt.Errorf("%s is not, on node %q", pod.Name, pod.Spec.NodeName)
			}
		}
		return nil
	})
	a.areGated("g-0", "g-1", "g-2")
	a.server = a.serve(serving{config: aheadProfile + "gangs: {preemptAfter: 100ms}"})
	a.ends()
}

func TestAheadASchedulerThatIsStartedAnewKeepsReservedRoom(t *testing.T) {
	for name, replicas := range map[string]int{"one that is started again": 1, "another one that was there": 2} {
		t.Run(name, func(t *testing.T) {
			a := reserved(t, replicas, serving{})
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			leader, err := a.schedulers.AwaitLeader(ctx)
			if err != nil {
				t.Fatal(err)
			}
			before := a.server.pod("g-0").ResourceVersion
			a.schedulers.Kill(leader)
			if replicas == 1 {
				if err := a.schedulers.Start(ctx, leader); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := a.schedulers.AwaitLeader(ctx); err != nil {
				t.Fatal(err)
			}
			a.eventually("muster has touched what is reserved", func() error {
				if a.server.pod("g-0").ResourceVersion == before {
					return errors.New("it has not")
				}
				return nil
			})
			a.race("rival")
			a.ends()
		})
	}
}
