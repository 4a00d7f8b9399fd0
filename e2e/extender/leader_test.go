package extender_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// In a quick election a dead leader is missed soon. In a slow one nobody is before the test is over.
const (
	quickElection = "leaderElection: {leaderElect: true, leaseDuration: 8s, resourceName: muster-e2e}"
	slowElection  = "leaderElection: {leaderElect: true, leaseDuration: 10m, resourceName: muster-e2e}"
)

func TestAnotherReplicaTakesOverFromADeadLeader(t *testing.T) {
	c := newCluster(t, workload.NewNodes("node", 2, "110")...)
	replicas := []*server{c.launch(muster.Options{Text: quickElection}), c.launch(muster.Options{Text: quickElection})}
	ready := func() []*server {
		return slices.DeleteFunc(slices.Clone(replicas), func(s *server) bool { return s.status("/readyz") != nil })
	}
	c.EventuallyTrue("one replica is ready", func() bool { return len(ready()) != 0 })
	// The other one tries each second. It must not get what the first one holds for longer than a lease.
	since := c.renewed()
	c.Eventually("the leader has renewed its lease for longer than that lasts", func() error {
		if got := len(ready()); got != 1 {
			c.Fatalf("%d replicas are ready, want 1", got)
		}
		if held := c.renewed().Sub(since); held < 10*time.Second {
			return fmt.Errorf("for %s", held)
		}
		return nil
	})

	leader := ready()[0]
	other := replicas[1-slices.Index(replicas, leader)]
	c.Schedule(leader.schedulerConfig(nil))
	c.createPods(workload.NewPod("first", "1"))
	c.awaitBound(1)
	c.StopScheduler()
	if _, err := other.Filter(t.Context(), workload.NewPod("p", "1"), "node-00"); err == nil {
		t.Error("a replica that does not lead answered filter")
	}

	c.Must(leader.Crash())
	c.Eventually("the other replica is ready", func() error { return other.status("/readyz") })
	c.Schedule(other.schedulerConfig(nil))
	c.createPods(workload.NewPod("second", "1"))
	c.awaitBound(2)
}

// renewed is when the leader has renewed its lease.
func (c *cluster) renewed() time.Time {
	c.Helper()
	leases, err := c.Client.CoordinationV1().Leases(metav1.NamespaceAll).List(c.Context(), metav1.ListOptions{
		FieldSelector: "metadata.name=muster-e2e",
	})
	c.Must(err)
	if len(leases.Items) != 1 {
		c.Fatalf("there are %d leases", len(leases.Items))
	}
	return leases.Items[0].Spec.RenewTime.Time
}

func TestAStoppedLeaderHandsOverAtOnce(t *testing.T) {
	c := newCluster(t)
	leader := c.serve(muster.Options{Text: slowElection})
	other := c.launch(muster.Options{Text: slowElection})
	if other.status("/readyz") == nil {
		t.Fatal("two replicas are ready")
	}
	leader.Stop()
	c.Eventually("the other replica is ready", func() error { return other.status("/readyz") })
}
