package extender

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/placement"
	"muster.dev/muster/predicates"
	"muster.dev/muster/server/servertest"
)

// BenchmarkGrowth measures what ten and twenty times the number of nodes cost, in the process: the memory of the view, the
// snapshot that follows a pod, a filter call about 100 nodes of all, of a class that is known and of a new one,
// and a plan for 500 pods. The cluster is three zones with three pods to a node, of 50 Deployments. Times are
// medians. The growth is the largest ratio to as many times the cost: at most 1 is at most linear.
func BenchmarkGrowth(b *testing.B) {
	few := benchNodes(b, 5_000)
	for b.Loop() {
		small := grown(b, few)
		for _, value := range small {
			fmt.Printf("figure %s_%d=%.2f\n", value.name, few, value.value)
		}
		for _, times := range []int{10, 20} {
			many, growth := times*few, 0.0
			for i, value := range grown(b, many) {
				fmt.Printf("figure %s_%d=%.2f\n", value.name, many, value.value)
				growth = max(growth, value.value/small[i].value/float64(times))
			}
			fmt.Printf("figure growth_%d=%.3f\n", many, growth)
		}
	}
}

// benchNodes is the number of nodes of a cluster: BENCH_NODES, if that is set.
func benchNodes(b *testing.B, otherwise int) int {
	b.Helper()
	text := os.Getenv("BENCH_NODES")
	if text == "" {
		return otherwise
	}
	nodes, err := strconv.Atoi(text)
	if err != nil || nodes < 1 {
		b.Fatalf("BENCH_NODES=%s: want a number of at least 1", text)
	}
	return nodes
}

// quantity is one measured quantity of a cluster.
type quantity struct {
	name  string
	value float64
}

const (
	growthZones       = 3
	growthPodsPerNode = 3
	growthDeployments = 50
	growthCalls       = 301
	growthPlans       = 9
	growthPlanned     = 500
)

func grown(b *testing.B, nodes int) []quantity {
	b.Helper()
	before := heapInUse()
	c := cluster.New(cluster.Options{Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), AssumeTTL: time.Hour})
	names, trim := make([]string, nodes), cluster.Trimming()
	for i := range nodes {
		names[i] = fmt.Sprintf("ip-10-%d-%d-%d.eu-west-1.compute.internal", i/65536, i/256%256, i%256)
		must(b, c.Set(growthNode(names[i], i)))
		for j := range growthPodsPerNode {
			pod := growthPod(fmt.Sprintf("running-%d-%d", i, j), (i+j)%growthDeployments)
			pod.Spec.NodeName = names[i]
			_, err := trim(pod) // as the watch does
			must(b, err)
			must(b, c.Set(pod))
		}
	}
	c.Snapshot()
	bytes := heapInUse() - before
	cfg := config.Default()
	cfg.Profiles[0].NodeSelection = config.NodeSelectionMuster
	profiles := profilesOf(b, c, cfg)
	g := &growing{B: b, cluster: c, names: names, extender: newExtender(c, nil, profiles), store: profiles.Of(corev1.DefaultSchedulerName)}
	return []quantity{
		{"growth_view_mb", float64(bytes) / (1 << 20)},
		{"growth_bytes_per_node_with_its_pods", float64(bytes) / float64(nodes)},
		{"growth_snapshot_us", g.snapshot()},
		{"growth_filter_100_names_us", g.filter(g.known)},
		{"growth_filter_100_names_new_class_us", g.filter(alone)},
		{"growth_plan_500_pods_us", g.plan()},
	}
}

// heapInUse returns the bytes in use after a collection.
func heapInUse() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

func growthNode(name string, i int) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname: name, corev1.LabelTopologyZone: fmt.Sprint("zone-", i%growthZones),
		}},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			corev1.ResourceCPU:    *resource.NewQuantity(int64(16+16*(i%4)), resource.DecimalSI),
			corev1.ResourceMemory: *resource.NewQuantity(128<<30, resource.BinarySI),
			corev1.ResourcePods:   *resource.NewQuantity(110, resource.DecimalSI),
		}},
	}
}

func growthPod(name string, deployment int) *corev1.Pod {
	pod := servertest.Pod(name, "500m")
	pod.Labels = map[string]string{"app": fmt.Sprint("app-", deployment)}
	pod.OwnerReferences = []metav1.OwnerReference{{UID: types.UID(fmt.Sprint("controller-", deployment)), Controller: new(true)}}
	return pod
}

// growing is a cluster on which times are taken.
type growing struct {
	*testing.B
	cluster  *cluster.Cluster
	names    []string
	extender *Extender
	store    *predicates.VerdictStore
	born     int
}

// place shows a pod that runs on one of the nodes.
func (g *growing) place() {
	g.Helper()
	g.born++
	pod := growthPod(fmt.Sprint("new-", g.born), g.born%growthDeployments)
	pod.Spec.NodeName = g.names[g.born*977%len(g.names)]
	must(g.B, g.cluster.Set(pod))
}

// microseconds returns the median of count times.
func microseconds(count int, once func() time.Duration) float64 {
	times := make([]time.Duration, count)
	for i := range times {
		times[i] = once()
	}
	slices.Sort(times)
	return float64(times[count/2]) / float64(time.Microsecond)
}

func (g *growing) snapshot() float64 {
	return microseconds(growthCalls, func() time.Duration {
		started := time.Now()
		g.place()
		g.cluster.Snapshot()
		return time.Since(started)
	})
}

// known is a pod of one of the Deployments, of a class that is judged on all nodes.
func (g *growing) known(i int) *corev1.Pod {
	pod := growthPod(fmt.Sprint("pending-", i), i%growthDeployments)
	g.store.Refresh(cluster.NewPod(pod))
	return pod
}

// alone is a pod of a class of its own.
func alone(i int) *corev1.Pod { return growthPod(fmt.Sprint("alone-", i), growthDeployments+i) }

// filter asks about a pod on 100 nodes, each time from where it ended before, while a pod comes between two calls.
func (g *growing) filter(pods func(i int) *corev1.Pod) float64 {
	const asked = 100
	c, verb := new(call), g.extender.verb("filter")
	calls, at := 0, 0
	return microseconds(growthCalls, func() time.Duration {
		pending := pods(calls)
		calls++
		must(g.B, g.cluster.Set(pending))
		names := g.names[at : at+asked]
		at = (at + asked) % (len(g.names) - asked)
		body, err := json.Marshal(extenderv1.ExtenderArgs{Pod: pending, NodeNames: &names})
		must(g.B, err)
		g.place()
		c.memory.reply.Reset()
		started := time.Now()
		found, err := c.serve(g.Context(), verb, body)
		took := time.Since(started)
		must(g.B, err)
		if found.outcome != outcomeOK {
			g.Fatalf("filter ends with %s: %s", found.outcome, c.memory.reply.Buf)
		}
		return took
	})
}

func (g *growing) plan() float64 {
	var pods []*cluster.Pod
	for i := range growthPlanned {
		pods = append(pods, cluster.NewPod(growthPod(fmt.Sprint("planned-", i), i*7%growthDeployments)))
	}
	return microseconds(growthPlans, func() time.Duration {
		g.place()
		started := time.Now()
		plan := placement.New(g.store, pods, 1)
		outcome := plan.PlaceAll(pods, len(pods), time.Time{})
		plan.Close()
		if !outcome.Kept {
			g.Fatalf("%d of %d pods got a node", outcome.Placed, len(pods))
		}
		return time.Since(started)
	})
}
