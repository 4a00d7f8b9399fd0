package extender_test

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/relay"
	"muster.dev/muster/e2e/workload"
)

// race creates pods of one CPU for each of several scheduler names at once.
func (c *cluster) race(each int, schedulerNames ...string) {
	c.Helper()
	var together sync.WaitGroup
	for _, name := range schedulerNames {
		var pods []*corev1.Pod
		for i := range each {
			pods = append(pods, workload.NewPod(fmt.Sprintf("%s-%03d", name, i), "1", workload.ScheduledBy(name)))
		}
		together.Go(func() {
			if err := (&workload.Cluster{Pods: pods}).CreateWorkloads(c.Context(), c.Client); err != nil {
				c.Error(err)
			}
		})
	}
	together.Wait()
}

func TestProfilesDoNotRaceForTheLastRoom(t *testing.T) {
	lab.Long(t)
	const nodes = 40 // with room for one pod each
	c := newCluster(t, workload.NewNodes("node", nodes, "1")...)
	w := c.serveExample().watch()
	c.race(nodes, "spread", "pack")
	w.settles(exactly(map[string]int{"": nodes}))
	c.createPods(workload.NewPods("pod", 3, "1")...)
	w.settles(exactly(map[string]int{"": nodes}))
}

// What muster is spared: two schedulers on the same cluster give the same room away twice. Each
// binding is right by what its scheduler has seen, and the API server takes them all.
func TestTwoSchedulersRaceForTheLastRoom(t *testing.T) {
	const nodes = 40
	c := newCluster(t, workload.NewNodes("node", nodes, "1")...)
	w := (&server{cluster: c}).watch()
	forPodsOf := func(schedulerName string) string {
		return stock + "profiles: [{schedulerName: " + schedulerName + "}]\n"
	}
	// One has chosen, and its bindings are on their way, when the other one starts.
	var chosen atomic.Int32
	arrive := make(chan struct{})
	kubeconfig := c.bindingsAnswered(func(string) relay.Decide {
		return func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
			chosen.Add(1)
			<-arrive
			pass.ServeHTTP(w, r)
		}
	})
	slow, err := c.StartSchedulerReplicas(t.Context(), controlplane.SchedulerOptions{Config: forPodsOf("pack"), Kubeconfig: kubeconfig})
	c.Must(err)
	t.Cleanup(slow.Stop)
	c.race(nodes, "pack")
	c.Eventually("one scheduler has chosen all nodes", func() error {
		if got := chosen.Load(); got < nodes {
			return fmt.Errorf("it has chosen %d", got)
		}
		return nil
	})
	c.Schedule(forPodsOf("spread"))
	c.race(nodes, "spread")
	bound := func(want int) {
		t.Helper()
		c.Eventually("no room is left", func() error {
			if bound := w.everBound()[""]; bound < want {
				return fmt.Errorf("%d pods are bound", bound)
			}
			return nil
		})
	}
	bound(nodes)
	close(arrive)
	bound(2 * nodes)
	if over := w.overcommitted(); len(over) != nodes {
		t.Errorf("%d of %d bindings were to nodes without room, want half", len(over), 2*nodes)
	}
}
