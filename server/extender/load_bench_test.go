package extender

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// BenchmarkLoadOnFilter measures what 5,000 usage updates a minute do to the filter at 5,000 nodes,
// with some 300 calls a second: beside a filter that is asked in turn with it, about a
// cluster in which nothing changes.
func BenchmarkLoadOnFilter(b *testing.B) {
	const (
		pause    = 3 * time.Millisecond
		updating = 1
	)
	nodes := benchNodes(b, 5000)
	calls, perNode := max(100, nodes*6/5), time.Minute/time.Duration(nodes)
	var extenders [2]*Extender
	var requests [2]call
	var bodies [2][]byte
	for i := range extenders {
		extender, body := benchExtender(b, nodes, config.NodeSelectionScheduler, config.LoadAware)
		for node := range extender.picker.cluster.Snapshot().Nodes() {
			extender.picker.cluster.SetUsage(node.Name, benchUsage(node, 0))
		}
		extenders[i], bodies[i] = extender, body
	}
	filter := func(i int) time.Duration {
		started := time.Now()
		requests[i].memory.reply.Reset()
		_, err := requests[i].serve(b.Context(), extenders[i].verb("filter"), bodies[i])
		must(b, err)
		return time.Since(started)
	}
	for b.Loop() {
		var took [2][]time.Duration
		measured := time.NewTicker(perNode)
		called := time.NewTicker(pause)
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for n := int64(0); ; n++ {
				select {
				case <-measured.C:
					c := extenders[updating].picker.cluster
					node := c.Snapshot().Node(int32(n % int64(nodes)))
					c.SetUsage(node.Name, benchUsage(node, n))
				case <-stop:
					return
				}
			}
		}()
		for n := range calls {
			<-called.C
			for turn := range extenders {
				i := (n + turn) % len(extenders)
				took[i] = append(took[i], filter(i))
			}
		}
		close(stop)
		<-stopped
		measured.Stop()
		called.Stop()
		p := func(i int, q float64) float64 {
			slices.Sort(took[i])
			return float64(took[i][int(q*float64(calls))])
		}
		fmt.Printf("figure load_filter_p50_us=%.0f\n", p(updating, 0.5)/1000)
		fmt.Printf("figure load_filter_p99_us=%.0f\n", p(updating, 0.99)/1000)
		fmt.Printf("figure load_filter_p50_ratio=%.3f\n", p(updating, 0.5)/p(0, 0.5))
		fmt.Printf("figure load_filter_p99_ratio=%.3f\n", p(updating, 0.99)/p(0, 0.99))
	}
}

// benchUsage has figures of a node and of all pods on it.
func benchUsage(node *cluster.Node, variant int64) *cluster.Usage {
	now := time.Unix(1000+variant, 0)
	usage := &cluster.Usage{
		Updated: now, Seen: now, Interval: time.Minute, Node: cluster.Resources{MilliCPU: 1000 + variant%5000, Memory: 1 << 30},
		Pods: map[types.NamespacedName]cluster.PodUsage{},
	}
	for _, pod := range node.Pods {
		usage.Pods[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}] = cluster.PodUsage{
			Used: cluster.Resources{MilliCPU: 50, Memory: 1 << 26},
		}
	}
	return usage
}
