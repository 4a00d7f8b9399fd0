package extender_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// gatekeeper is a muster for whose gangs members are gated, and a scheduler that uses it.
type gatekeeper struct {
	*witness
	options muster.Options
}

// keepGates has members gated until the test ends, by one gatekeeper or the other, and runs a
// muster that lifts the gates and a scheduler.
func (c *cluster) keepGates(by muster.Gatekeeper, gates muster.Gates) *gatekeeper {
	c.Helper()
	g := &gatekeeper{options: muster.Options{Gates: gates, GatedBy: by}}
	if gates == muster.UntilPlace {
		g.options.Selection = muster.Muster
	}
	s := c.serveAndSchedule(g.options)
	g.witness = s.watch()
	return g
}

// again starts muster again after a crash.
func (g *gatekeeper) again(gates muster.Gates) {
	g.Helper()
	g.options.Gates = gates
	g.Must(g.Configure(g.options))
	g.Must(g.Restart(g.Context()))
}

// stayGated checks that pods are gated and that the scheduler has never tried them, now that it has come to a later pod.
func (g *gatekeeper) stayGated(names ...string) {
	g.Helper()
	for _, name := range names {
		g.awaitCondition(name)
	}
	g.Barrier()
	for _, name := range names {
		pod := g.Pod(name)
		if reason := g.awaitCondition(name).Reason; reason != corev1.PodReasonSchedulingGated || !muster.Gated(pod) {
			g.Errorf("%s has gates %v, and the condition says %s", name, pod.Spec.SchedulingGates, reason)
		}
	}
	g.wantNoneRefused()
}

func TestMembersAreGatedUntilThereAreEnough(t *testing.T) {
	t.Parallel()
	for _, by := range []muster.Gatekeeper{muster.Policy, muster.Webhook} {
		t.Run("by the "+string(by), func(t *testing.T) {
			lab.LongUnless(t, by == muster.Webhook)
			c := newCluster(t, workload.NewNodes("node", 5, "4")...)
			c.createPodGroups(workload.NewPodGroup("g", 4))
			g := c.keepGates(by, muster.UntilMembers)
			pods := workload.NewMembers("g", 4, "3")
			c.createPods(workload.NewPod("single", "3"))
			g.awaits(exactly(map[string]int{"": 1}))
			for _, pod := range pods[:3] {
				c.createPods(pod)
			}
			g.stayGated("g-0", "g-1", "g-2")
			g.awaitWhy("g", "waiting for 1 more of 4 members to be created")
			c.createPods(pods[3])
			g.settles(exactly(map[string]int{"": 1, "g": 4}))
			g.wantNoneRefused()
		})
	}
}

// awaitWhy waits until muster says that a gang waits because of something.
func (s *server) awaitWhy(gang, why string) {
	s.Helper()
	s.Eventually("muster says why "+gang+" waits", func() error {
		page, err := s.Page(s.Context(), "/debug/gangs/"+workload.Namespace+"/"+gang)
		if err == nil && !strings.Contains(page, "waits because: "+why) {
			err = fmt.Errorf("it says %s", page)
		}
		return err
	})
}

func TestAGangThatWaitsForRoomBehindGatesIsNotTried(t *testing.T) {
	c := newCluster(t, workload.NewNodes("node", 3, "4")...)
	c.createPodGroups(workload.NewPodGroup("g", 4))
	g := c.keepGates(muster.Policy, muster.UntilPlace)
	c.createPods(workload.NewMembers("g", 4, "3")...)
	g.awaitWhy("g", "places for 3 of 4 members")
	g.stayGated("g-0", "g-1", "g-2", "g-3")

	g.Must(g.Crash())
	g.again(muster.UntilPlace)
	g.awaitWhy("g", "places for 3 of 4 members")
	g.stayGated("g-0", "g-1", "g-2", "g-3")

	c.createNodes(workload.NewNode("another", "4"))
	g.settles(exactly(map[string]int{"g": 4}))
	g.wantNoneRefused()
}

func TestAGangStartsOfWhichSomePodsCameWhileMusterWasAway(t *testing.T) {
	t.Parallel()
	for by, gates := range map[muster.Gatekeeper]int{muster.Policy: 1, muster.Webhook: 0} {
		t.Run("gated by the "+string(by), func(t *testing.T) {
			lab.LongUnless(t, by == muster.Policy)
			c := newCluster(t, workload.NewNodes("node", 4, "4")...)
			c.createPodGroups(workload.NewPodGroup("g", 4))
			g := c.keepGates(by, muster.UntilMembers)
			pods := workload.NewMembers("g", 4, "3")
			c.createPods(pods[:2]...)
			g.stayGated("g-0", "g-1")
			g.Must(g.Crash())
			c.createPods(pods[2:]...)
			for _, name := range []string{"g-2", "g-3"} {
				if pod := c.Pod(name); len(pod.Spec.SchedulingGates) != gates {
					t.Errorf("%s was created while muster was away, and has gates %v, want %d", name, pod.Spec.SchedulingGates, gates)
				}
			}
			g.again(muster.UntilMembers)
			g.settles(exactly(map[string]int{"g": 4}))
		})
	}
}

func TestGatesThatAreNotWantedAnyMoreAreLifted(t *testing.T) {
	c := newCluster(t, workload.NewNodes("node", 4, "4")...)
	c.createPodGroups(workload.NewPodGroup("g", 4))
	g := c.keepGates(muster.Policy, muster.UntilMembers)
	c.createPods(workload.NewMembers("g", 2, "3")...)
	g.stayGated("g-0", "g-1")
	g.Must(g.Crash())
	g.again("")
	g.settles(exactly(map[string]int{})) // the scheduler has tried them
}

func TestAGangThatMayPreemptIsNotLeftBehindGates(t *testing.T) {
	lab.Long(t)
	nodes := workload.NewNodes("node", 3, "4")
	c := newCluster(t, nodes...)
	c.createPriorityClass("high", 1000)
	c.createPodGroups(workload.NewPodGroup("low", 3), workload.NewPodGroup("high", 3))
	g := c.keepGates(muster.Webhook, muster.UntilPlace)
	c.occupy("single", nodes)
	c.createPods(workload.NewMembers("low", 3, "3")...)
	c.createPods(workload.NewMembers("high", 3, "3", workload.OfPriority("high"))...)
	g.awaits(exactly(map[string]int{"": 3, "high": 3}))
	g.awaitWhy("low", "places for 0 of 3 members")
	for _, pod := range []string{"low-0", "low-1", "low-2"} {
		if !muster.Gated(g.Pod(pod)) {
			t.Errorf("%s is not gated, and nobody is less important", pod)
		}
	}
	g.wantLeft("low-0", "low-1", "low-2", "high-0", "high-1", "high-2")
}
