package extender_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// gatekeeper is a muster for whose gangs members are gated, and a scheduler that uses it.
type gatekeeper struct {
	*witness
	by      muster.Gatekeeper
	files   tlsFiles // for the webhook
	webhook string   // the address of the webhook
}

// keepGates has members gated until the test ends, by one gatekeeper or the other, and runs a
// muster that lifts the gates and a scheduler.
func (c *cluster) keepGates(by muster.Gatekeeper, policy string) *gatekeeper {
	c.Helper()
	g := &gatekeeper{by: by}
	if by == muster.Webhook {
		g.files, g.webhook = newTLSFiles(c.T), c.freeAddress()
	}
	s := c.serveGates(g, policy)
	g.witness = s.watch()
	if by == muster.Webhook {
		c.askForGates(g.webhook, g.files)
	} else {
		c.applyGatePolicy(s)
	}
	c.schedule(s.schedulerConfig(g.schedulerFlags()))
	return g
}

func (c *cluster) serveGates(g *gatekeeper, policy string) *server {
	c.Helper()
	config := fmt.Sprintf("gangs: {gates: %s, gatedBy: %s}", policy, g.by)
	if g.by == muster.Policy {
		return c.serve(serving{config: config})
	}
	return c.serve(serving{
		config: servingWebhook(g.webhook, g.files) + config,
		scheme: "https",
		client: g.files.client(c.T),
	})
}

// servingWebhook is a configuration with a webhook, over https.
func servingWebhook(address string, f tlsFiles) string {
	return "serving: {webhookListen: '" + address + "', tls: {certFile: " + f.certificate + ", keyFile: " + f.key + "}}\n"
}

func (g *gatekeeper) schedulerFlags() []string {
	if g.by == muster.Policy {
		return nil
	}
	return []string{"--ca-file=" + g.files.certificate}
}

// crash ends muster as a crash would.
func (g *gatekeeper) crash() { g.process.Kill() }

// again runs another muster, which the scheduler then uses.
func (g *gatekeeper) again(policy string) {
	g.Helper()
	g.server = g.serveGates(g, policy)
	shared.StopScheduler()
	g.schedule(g.schedulerConfig(g.schedulerFlags()))
}

// askForGates has the API server ask a muster for gates until the test ends.
func (c *cluster) askForGates(webhook string, f tlsFiles) {
	c.Helper()
	ca, err := os.ReadFile(f.certificate)
	if err != nil {
		c.Fatal(err)
	}
	if err := muster.CreateWebhook(c.Context(), c.client, "https://"+webhook, ca); err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() {
		if err := muster.DeleteWebhook(context.Background(), c.client); err != nil {
			c.Error(err)
		}
	})
}

// applyGatePolicy has the API server gate the members of a muster's gangs by itself until the
// test ends.
func (c *cluster) applyGatePolicy(s *server) {
	c.Helper()
	if err := muster.CreateGatePolicy(c.Context(), c.client, shared.muster, s.config); err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() {
		if err := muster.DeleteGatePolicy(context.Background(), c.client); err != nil {
			c.Error(err)
		}
	})
}

// staysGated checks that pods are gated, and that the scheduler has tried so many pods for
// all that, none of them.
func (g *gatekeeper) staysGated(attempts int, names ...string) {
	g.Helper()
	until := time.Now().Add(quiet)
	g.eventually("some time has passed", func() error {
		for _, name := range names {
			pod := g.server.pod(name)
			if reason := g.awaitCondition(name).Reason; reason != corev1.PodReasonSchedulingGated || !muster.Gated(pod) {
				g.Fatalf("%s has gates %v, and the condition says %s", name, pod.Spec.SchedulingGates, reason)
			}
		}
		if left := time.Until(until); left > 0 {
			return fmt.Errorf("%s are left", left)
		}
		return nil
	})
	if got := g.attempts(); got != attempts {
		g.Errorf("the scheduler has tried pods %d times, want %d", got, attempts)
	}
}

// attempts is how often the scheduler has tried a pod.
func (c *cluster) attempts() (count int) {
	c.Helper()
	families, err := shared.SchedulerMetrics(c.Context())
	if err != nil {
		c.Fatal(err)
	}
	for _, metric := range families["scheduler_schedule_attempts_total"].GetMetric() {
		count += int(metric.GetCounter().GetValue())
	}
	return count
}

func TestMembersAreGatedUntilThereAreEnough(t *testing.T) {
	for _, by := range []muster.Gatekeeper{muster.Policy, muster.Webhook} {
		t.Run("by the "+string(by), func(t *testing.T) {
			c := newCluster(t, newNodes(5, "4")...)
			c.createPodGroups(newPodGroup("g", 4))
			g := c.keepGates(by, "UntilMembers")
			pods := members("g", 4, "3")
			c.createPods(newPod("single", "3"))
			g.awaits(exactly(map[string]int{"": 1}))
			for _, pod := range pods[:3] {
				c.createPods(pod)
			}
			g.staysGated(1, "g-0", "g-1", "g-2")
			g.awaitWhy("g", "waiting for 1 more of 4 members to be created")
			c.createPods(pods[3])
			g.settles(exactly(map[string]int{"": 1, "g": 4}))
			if got := c.attempts(); got != 5 {
				t.Errorf("the scheduler has tried pods %d times, want once each of 5", got)
			}
		})
	}
}

// awaitWhy waits until muster says that a gang waits because of something.
func (s *server) awaitWhy(gang, why string) {
	s.Helper()
	s.eventually("muster says why "+gang+" waits", func() error {
		page, err := s.get("/debug/gangs/" + workload.Namespace + "/" + gang)
		if err == nil && !strings.Contains(page, "waits because: "+why) {
			err = fmt.Errorf("it says %s", page)
		}
		return err
	})
}

func TestAGangThatWaitsForRoomBehindGatesIsNotTried(t *testing.T) {
	c := newCluster(t, newNodes(3, "4")...)
	c.createPodGroups(newPodGroup("g", 4))
	g := c.keepGates(muster.Policy, "UntilPlace")
	c.createPods(members("g", 4, "3")...)
	g.awaitWhy("g", "places for 3 of 4 members")
	g.staysGated(0, "g-0", "g-1", "g-2", "g-3")

	g.crash()
	g.again("UntilPlace")
	g.awaitWhy("g", "places for 3 of 4 members")
	g.staysGated(0, "g-0", "g-1", "g-2", "g-3")

	c.create(&workload.Cluster{Nodes: []*corev1.Node{newNode("another", "4")}})
	g.settles(exactly(map[string]int{"g": 4}))
	if got := c.attempts(); got != 4 {
		t.Errorf("the scheduler has tried pods %d times, want once each of 4", got)
	}
}

func TestAGangStartsOfWhichSomePodsCameWhileMusterWasAway(t *testing.T) {
	for by, gates := range map[muster.Gatekeeper]int{muster.Policy: 1, muster.Webhook: 0} {
		t.Run("gated by the "+string(by), func(t *testing.T) {
			c := newCluster(t, newNodes(4, "4")...)
			c.createPodGroups(newPodGroup("g", 4))
			g := c.keepGates(by, "UntilMembers")
			pods := members("g", 4, "3")
			c.createPods(pods[:2]...)
			g.staysGated(0, "g-0", "g-1")
			g.crash()
			c.createPods(pods[2:]...)
			for _, name := range []string{"g-2", "g-3"} {
				if pod := c.pod(name); len(pod.Spec.SchedulingGates) != gates {
					t.Errorf("%s was created while muster was away, and has gates %v, want %d", name, pod.Spec.SchedulingGates, gates)
				}
			}
			g.again("UntilMembers")
			g.settles(exactly(map[string]int{"g": 4}))
		})
	}
}

func TestGatesThatAreNotWantedAnyMoreAreLifted(t *testing.T) {
	c := newCluster(t, newNodes(4, "4")...)
	c.createPodGroups(newPodGroup("g", 4))
	g := c.keepGates(muster.Policy, "UntilMembers")
	c.createPods(members("g", 2, "3")...)
	g.staysGated(0, "g-0", "g-1")
	g.crash()
	g.again("Never")
	g.settles(exactly(map[string]int{})) // the scheduler has tried them
}

func TestAGangThatMayPreemptIsNotLeftBehindGates(t *testing.T) {
	nodes := newNodes(3, "4")
	c := newCluster(t, nodes...)
	c.createPriorityClass("high", 1000)
	c.createPodGroups(newPodGroup("low", 3), newPodGroup("high", 3))
	g := c.keepGates(muster.Webhook, "UntilPlace")
	c.occupy("single", nodes)
	c.createPods(members("low", 3, "3")...)
	c.createPods(members("high", 3, "3", withPriority("high"))...)
	g.awaits(exactly(map[string]int{"": 3, "high": 3}))
	g.awaitWhy("low", "places for 0 of 3 members")
	for _, pod := range []string{"low-0", "low-1", "low-2"} {
		if !muster.Gated(g.server.pod(pod)) {
			t.Errorf("%s is not gated, and nobody is less important", pod)
		}
	}
	g.wantLeft("low-0", "low-1", "low-2", "high-0", "high-1", "high-2")
}
