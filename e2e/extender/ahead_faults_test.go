package extender_test

import (
	"net/http"
	"sync/atomic"
	"testing"

	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/relay"
	"muster.dev/muster/e2e/workload"
)

// liftsAnswered returns a kubeconfig of an API server that treats each lifting of a gate as the test says, nil for as
// ever.
func (c *cluster) liftsAnswered(by func(pod string) relay.Decide) (kubeconfig string) {
	c.Helper()
	return c.callsAnswered(func(method string, path []string) relay.Decide {
		if method != http.MethodPatch || path[len(path)-2] != "pods" {
			return nil
		}
		return by(path[len(path)-1])
	})
}

func TestAheadMusterDiesWhenItHasLetSomeMembersGo(t *testing.T) {
	lab.Long(t)
	c := newCluster(t, workload.NewNodes("node", 4, "4")...)
	c.createPodGroups(workload.NewPodGroup("g", 4))
	var lifts atomic.Int32
	a := c.alone(muster.Options{Kubeconfig: c.liftsAnswered(func(string) relay.Decide {
		if lifts.Add(1) <= 2 {
			return nil
		}
		return relay.Silent
	})})
	c.createPods(workload.NewMembers("g", 4, "3")...)
	a.awaits(exactly(map[string]int{"g": 2}))
	a.Must(a.Crash())
	if r, recorded := c.record("g"); !recorded || r.Members != 4 || r.MinMember != 4 {
		t.Errorf("the record is %+v, there is one: %t", r, recorded)
	}
	// Others want the nodes that are left.
	c.createPodGroups(workload.NewPodGroup("other", 2))
	c.createPods(workload.NewMembers("other", 2, "3")...)
	a.server = c.serve(muster.Options{Selection: muster.Muster, Gates: muster.UntilPlace})
	a.rests(exactly(map[string]int{"g": 4}))
	a.areGated("other-0", "other-1")
}

func TestAheadGatesAreLiftedThoughTheAPIServerFails(t *testing.T) {
	c := newCluster(t, workload.NewNodes("node", 4, "4")...)
	c.createPodGroups(workload.NewPodGroup("g", 4))
	var lifts atomic.Int32
	a := c.alone(muster.Options{Kubeconfig: c.liftsAnswered(func(string) relay.Decide {
		if lifts.Add(1) <= 3 {
			return relay.Lost
		}
		return nil
	})})
	c.createPods(workload.NewMembers("g", 4, "3")...)
	a.rests(exactly(map[string]int{"g": 4}))
	if got := lifts.Load(); got < 4 {
		t.Errorf("%d gates were lifted, want 4", got)
	}
}
