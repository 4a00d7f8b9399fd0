package predicates_test

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

const dump = `
apiVersion: v1
kind: Node
metadata: {name: small}
status: {allocatable: {cpu: "2", pods: "110"}}
---
apiVersion: v1
kind: Node
metadata: {name: tainted}
spec: {taints: [{key: gpu, effect: NoSchedule}]}
status: {allocatable: {cpu: "16", pods: "110"}}
---
apiVersion: v1
kind: Node
metadata: {name: large}
status: {allocatable: {cpu: "16", pods: "110"}}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: default, uid: "1"}
spec: {containers: [{name: main, resources: {requests: {cpu: "4"}}}]}
`

// A profile judges a pod once, and is then asked about each node.
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
	snap, pod := c.Snapshot(), c.FindPod(types.NamespacedName{Namespace: "default", Name: "web"})
	judgement := profile.Judge(pod, snap)
	for node := range snap.Nodes() {
		if verdict := judgement.Verdict(node); verdict == predicates.Fits {
			fmt.Printf("%s: it fits\n", node.Name)
		} else {
			fmt.Printf("%s: %s; evictions may help: %v\n", node.Name, judgement.Reason(verdict), verdict.Resolvable())
		}
	}
	// Output:
	// small: Insufficient cpu; evictions may help: false
	// tainted: node(s) had untolerated taint(s); evictions may help: false
	// large: it fits
}
