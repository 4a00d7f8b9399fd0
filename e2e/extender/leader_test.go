package extender_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

// quickElection is a leader election in which a dead leader is missed soon.
const (
	leaseDuration, retryPeriod = 4 * time.Second, time.Second

	quickElection = `
leaderElection: {leaderElect: true, leaseDuration: 4s, renewDeadline: 3s, retryPeriod: 1s, resourceName: muster-e2e}
`
)

func TestAnotherReplicaTakesOverFromADeadLeader(t *testing.T) {
	c := newCluster(t, newNodes(2, "110")...)
	replicas := []*server{c.launch(serving{config: quickElection}), c.launch(serving{config: quickElection})}
	ready := func() []*server {
		return slices.DeleteFunc(slices.Clone(replicas), func(s *server) bool { return s.status("/readyz") != nil })
	}
	c.eventually("one replica is ready", func() error {
		if len(ready()) == 0 {
			return errors.New("none is")
		}
		return nil
	})
	// The other one tries each second. It must not get what the first one holds.
	until := time.Now().Add(leaseDuration + retryPeriod)
	c.eventually("a lease has passed", func() error {
		if got := len(ready()); got != 1 {
			c.Fatalf("%d replicas are ready, want 1", got)
		}
		if left := time.Until(until); left > 0 {
			return fmt.Errorf("%s are left", left)
		}
		return nil
	})

	leader := ready()[0]
	other := replicas[1-slices.Index(replicas, leader)]
	c.schedule(leader.schedulerConfig(nil))
	c.createPods(newPod("first", "1"))
	c.awaitBound(1)
	shared.StopScheduler()
	if _, err := other.filter(newPod("p", "1"), "node-00"); err == nil {
		t.Error("a replica that does not lead answered filter")
	}

	leader.process.Kill()
	c.eventually("the other replica is ready", func() error { return other.status("/readyz") })
	c.schedule(other.schedulerConfig(nil))
	c.createPods(newPod("second", "1"))
	c.awaitBound(2)
}

func TestAStoppedLeaderHandsOverAtOnce(t *testing.T) {
	const slowElection = "leaderElection: {leaderElect: true, leaseDuration: 10m, renewDeadline: 5m, retryPeriod: 1s, resourceName: " +
		"muster-e2e}"
	c := newCluster(t)
	leader := c.serve(serving{config: slowElection})
	other := c.launch(serving{config: slowElection})
	if other.status("/readyz") == nil {
		t.Fatal("two replicas are ready")
	}
	leader.process.Stop(grace)
	c.eventually("the other replica is ready", func() error { return other.status("/readyz") })
}
