package cluster_test

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/cluster"
)

const dump = `
apiVersion: v1
kind: Node
metadata: {name: a}
status: {allocatable: {cpu: "4", pods: "110"}}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: default, uid: "1"}
spec: {nodeName: a, containers: [{name: main, resources: {requests: {cpu: "1"}}}]}
`

// A decision is made on a snapshot, and holds only if the node is still as it was there.
func Example() {
	c := cluster.New(cluster.Options{Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), AssumeTTL: time.Minute})
	loaded, err := c.Load([]string{"-"}, strings.NewReader(dump))
	fmt.Println(loaded, err)

	before := c.Snapshot()
	a := before.NodeByName("a")
	fmt.Printf("%d of %d thousandths of a CPU are requested\n", a.Requested.MilliCPU, a.Allocatable.MilliCPU)

	pod := func(name string) *cluster.Pod {
		return cluster.NewPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name)}})
	}
	fmt.Println("assumed:", c.AssumeAll([]*cluster.Pod{pod("first")}, a))
	fmt.Println("assumed:", c.AssumeAll([]*cluster.Pod{pod("second")}, a))

	after := c.Snapshot()
	changes, _ := after.Since(before.Generation)
	fmt.Printf("%d pods were on %s, %d are; it changed in %s\n", len(a.Pods), a.Name, len(after.Node(a.Index).Pods), changes[0].Aspects)
	// Output:
	// loaded 1 nodes, 1 pods <nil>
	// 1000 of 4000 thousandths of a CPU are requested
	// assumed: <nil>
	// assumed: the node changed since the decision
	// 1 pods were on a, 2 are; it changed in requested,pods
}
