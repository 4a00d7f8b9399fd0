package planner_test

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
	"muster.dev/muster/rescheduler/planner"
)

const dump = `
apiVersion: v1
kind: Node
metadata: {name: a}
status: {allocatable: {cpu: "4", pods: "110"}}
---
apiVersion: v1
kind: Node
metadata: {name: b}
status: {allocatable: {cpu: "3", pods: "110"}}
---
apiVersion: v1
kind: Pod
metadata:
  {name: web-1, namespace: default, uid: "1",
   ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: w, controller: true}]}
spec: {schedulerName: default-scheduler, nodeName: a, containers: [{name: main, resources: {requests: {cpu: "2"}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: big, namespace: default, uid: "2"}
spec: {schedulerName: default-scheduler, containers: [{name: main, resources: {requests: {cpu: "4"}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: huge, namespace: default, uid: "3"}
spec: {schedulerName: default-scheduler, containers: [{name: main, resources: {requests: {cpu: "5"}}}]}
`

// One pod is moved so that another one, which waits, gets a place. A third one gets none.
func Example() {
	c := cluster.New(cluster.Options{Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), AssumeTTL: time.Minute})
	if _, err := c.Load([]string{"-"}, strings.NewReader(dump)); err != nil {
		panic(err)
	}
	cfg := config.Default().Profiles[0]
	profile, err := predicates.NewProfile(&cfg)
	if err != nil {
		panic(err)
	}
	snap := c.Snapshot()
	problem := &planner.Problem{Snapshot: snap, Profiles: []*predicates.Profile{profile}, Clock: clock.RealClock{}}

	plan := problem.MakeRoom(problem.Pending(planner.Waiting(c)))
	for _, step := range plan.Steps {
		fmt.Printf("%s: %s -> %s, %s\n", step.Pod.Name, step.From.Name, step.To.Name, step.Why)
	}
	for _, placement := range plan.Placements {
		fmt.Printf("%s: %s\n", placement.Pod.Name, placement.Why)
	}
	for _, refusal := range plan.Unplaced {
		fmt.Printf("%s: %s\n", refusal.Name, refusal.String())
	}
	// Output:
	// web-1: a -> b, makes room on a for default/big
	// big: a has room once a pod has moved
	// default/huge: no node could take the pod, whatever pods were moved: 2 nodes: Insufficient cpu
}
