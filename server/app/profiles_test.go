package app

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/server/servertest"
)

func TestTheProfilesOfTheExampleSpreadServicesAndPackBatch(t *testing.T) {
	example, err := os.ReadFile("../../docs/examples/profiles.yaml")
	if err != nil {
		t.Fatal(err)
	}
	r := newReloading(t, string(example))
	r.Node("used", "8")
	r.Node("empty", "8")
	running := servertest.Pod("running", "4")
	running.Spec.NodeName = "used"
	r.Pending(running)
	for schedulerName, want := range map[string][]string{"spread": {"empty"}, "pack": {"used"}, "default-scheduler": {"used", "empty"}} {
		pod := servertest.Pod("p-"+schedulerName, "1")
		pod.Spec.SchedulerName = schedulerName
		if diff := cmp.Diff(&want, r.Filter(pod, "used", "empty").NodeNames); diff != "" {
			t.Errorf("nodes for a pod of %s (-want +got):\n%s", schedulerName, diff)
		}
		r.Cluster.Release(pod.UID)
	}
}

func TestPodsOfSeveralProfilesDoNotRaceForANode(t *testing.T) {
	r := newReloading(t, header+"profiles: [{schedulerName: a, nodeSelection: Muster}, {schedulerName: b, nodeSelection: Muster}]\n")
	r.Node("last", "1")
	var placed atomic.Int32
	var asking sync.WaitGroup
	for i := range 8 {
		asking.Go(func() {
			pod := servertest.Pod(fmt.Sprint("p", i), "1")
			pod.Spec.SchedulerName = []string{"a", "b"}[i%2]
			if len(*r.Filter(pod, "last").NodeNames) > 0 {
				placed.Add(1)
			}
		})
	}
	asking.Wait()
	if got := placed.Load(); got != 1 {
		t.Errorf("%d pods of two profiles are told of the room for one", got)
	}
}
