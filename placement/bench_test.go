package placement

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// town is a cluster of some size with Deployments that have pods already, three on each
// node, and want more.
type town struct {
	cluster *cluster.Cluster
	store   *predicates.VerdictStore
	random  *rand.Rand
	uids    int
}

const deployments = 50

func newTown(b *testing.B, nodes int) *town {
	b.Helper()
	t := &town{random: rand.New(rand.NewPCG(1, 0))}
	t.cluster, t.store = newStore(b)
	for i := range nodes {
		set(b, t.cluster, t.node(i))
	}
	for i := range deployments {
		set(b, t.cluster, replicaSet(i))
	}
	for i := range nodes * 3 {
		pod := t.pod(t.random.IntN(deployments))
		pod.Spec.NodeName = fmt.Sprint("node-", i%nodes)
		set(b, t.cluster, pod)
	}
	return t
}

// node is one of several sizes in one of five zones.
func (t *town) node(i int) *corev1.Node {
	size := []int64{16, 16, 32, 32, 64, 96}[t.random.IntN(6)]
	name := fmt.Sprint("node-", i)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		corev1.LabelHostname:           name,
		corev1.LabelTopologyZone:       fmt.Sprint("zone-", t.random.IntN(5)),
		corev1.LabelInstanceTypeStable: fmt.Sprint("size-", size),
	}}}
	node.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(size, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(size*4<<30, resource.BinarySI),
		corev1.ResourcePods:   *resource.NewQuantity(110, resource.DecimalSI),
	}
	return node
}

func replicaSet(i int) *appsv1.ReplicaSet {
	name := fmt.Sprint("app-", i)
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name)},
		Spec:       appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}},
	}
}

// pod is one more of a Deployment. Of five of those, one keeps its pods on nodes of
// their own, one spreads them over the zones, one prefers some nodes, one prefers to
// have them apart; all but the second are spread by default.
func (t *town) pod(deployment int) *corev1.Pod {
	t.uids++
	app := fmt.Sprint("app-", deployment)
	same := &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	apart := corev1.PodAffinityTerm{LabelSelector: same, TopologyKey: corev1.LabelHostname}
	name := fmt.Sprint(app, "-", t.uids)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:      name,
			Namespace: "default",
			UID:       types.UID(name),
			Labels:    same.MatchLabels,
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(replicaSet(deployment), appsv1.SchemeGroupVersion.WithKind("ReplicaSet")),
			},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: app, Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU:    *resource.NewMilliQuantity(int64(100+deployment*20), resource.DecimalSI),
			corev1.ResourceMemory: *resource.NewQuantity(int64(1+deployment%7)<<28, resource.BinarySI),
		}}}}},
	}
	switch deployment % 5 {
	case 1:
		pod.Spec.Affinity = &corev1.Affinity{
			PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{apart}},
		}
	case 2:
		pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: same,
		}}
	case 3:
		pod.Spec.Affinity = &corev1.Affinity{
			NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
				Weight: 20, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{
					Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"size-64", "size-96"},
				}}},
			}}},
		}
	case 4:
		pod.Spec.Affinity = &corev1.Affinity{
			PodAntiAffinity: &corev1.PodAntiAffinity{
				PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 50, PodAffinityTerm: apart}},
			},
		}
	}
	return pod
}

// pods returns count pods, of Deployments whose largest wants the most, in any order.
func (t *town) pods(count int) []*cluster.Pod {
	var pods []*cluster.Pod
	for len(pods) < count {
		deployment := min(t.random.IntN(deployments), t.random.IntN(deployments))
		pods = append(pods, cluster.NewPod(t.pod(deployment)))
	}
	return pods
}

// place plans places for pods, and returns how long that took and how much of it the
// classes of the pods were held.
func (t *town) place(b *testing.B, pods []*cluster.Pod) (took, held time.Duration) {
	b.Helper()
	started := time.Now()
	plan := New(t.store, pods, 1)
	holding := time.Now()
	if outcome := plan.PlaceAll(pods, len(pods), time.Time{}); !outcome.Kept {
		b.Fatalf("%d of %d pods got a node", outcome.Placed, len(pods))
	}
	plan.Close()
	return time.Since(started), time.Since(holding)
}

// benchNodes is the number of nodes of the smaller cluster: 5,000 unless BENCH_NODES sets another. Pods are in
// proportion.
func benchNodes(b *testing.B) int {
	b.Helper()
	text := os.Getenv("BENCH_NODES")
	if text == "" {
		return 5_000
	}
	nodes, err := strconv.Atoi(text)
	if err != nil || nodes < 50 {
		b.Fatalf("BENCH_NODES=%s: want a number of at least 50", text)
	}
	return nodes
}

// BenchmarkPlan places pods of 50 Deployments, all mixed, whose classes the store knows, on clusters of two
// sizes in turn. It prints the figures of make bench-placement: medians.
func BenchmarkPlan(b *testing.B) {
	sizes := []int{benchNodes(b), 3 * benchNodes(b)}
	towns, pods, times := make([]*town, len(sizes)), make([][]*cluster.Pod, len(sizes)), make([][]time.Duration, len(sizes))
	for i, nodes := range sizes {
		towns[i] = newTown(b, nodes)
		pods[i] = towns[i].pods(2 * sizes[0])
		towns[i].place(b, pods[i])
	}
	for b.Loop() {
		for i := range sizes {
			took, _ := towns[i].place(b, pods[i])
			times[i] = append(times[i], took)
		}
	}
	var each []float64
	for i, nodes := range sizes {
		each = append(each, float64(median(times[i]).Nanoseconds())/1e3/float64(len(pods[i])))
		fmt.Printf("figure placement_us_per_pod_%d=%.1f\n", nodes, each[i])
	}
	fmt.Printf("figure placement_growth_%d=%.2f\n", sizes[1], each[1]/each[0])
}

// BenchmarkSmallPlan places 500 such pods, as a batch of a backlog. Meanwhile, others who
// ask about their classes wait.
func BenchmarkSmallPlan(b *testing.B) {
	nodes := benchNodes(b)
	t := newTown(b, nodes)
	pods := t.pods(nodes / 10)
	var times, holds []time.Duration
	for b.Loop() {
		took, held := t.place(b, pods)
		times, holds = append(times, took), append(holds, held)
	}
	fmt.Printf("figure placement_%d_pods_ms_%d=%.1f\n", len(pods), nodes, float64(median(times).Microseconds())/1e3)
	fmt.Printf("figure placement_%d_pods_held_ms_%d=%.1f\n", len(pods), nodes, float64(median(holds).Microseconds())/1e3)
}

// BenchmarkPodsWithoutAController places pods that are known to nobody: 1,000 that are
// alike, and 100 that are not, on 5,000 nodes.
func BenchmarkPodsWithoutAController(b *testing.B) {
	nodes := benchNodes(b)
	t := newTown(b, nodes)
	lone := func(count int, change func(i int, pod *corev1.Pod)) []*cluster.Pod {
		var pods []*cluster.Pod
		for i := range count {
			pod := t.pod(0)
			pod.OwnerReferences = nil
			change(i, pod)
			pods = append(pods, cluster.NewPod(pod))
		}
		return pods
	}
	for name, pods := range map[string][]*cluster.Pod{
		"alike":     lone(nodes/5, func(int, *corev1.Pod) {}),
		"different": lone(nodes/50, func(i int, pod *corev1.Pod) { pod.Labels = map[string]string{"number": strconv.Itoa(i)} }),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				t.place(b, pods)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(pods)), "µs/pod")
		})
	}
}

// BenchmarkRearrangement places gangs of two sizes on nodes of 8 CPUs: half of the pods ask for 4, and come first, the others for
// 8. One gang fits exactly if the small ones share nodes. Of the other one a pod is too many, though in sum there is room, so
// that the search goes on to its bound.
func BenchmarkRearrangement(b *testing.B) {
	nodes := benchNodes(b)
	members := min(512, nodes/4*4)
	for name, extra := range map[string]int{"rearranged": 0, "in_vain": 1} {
		b.Run(name, func(b *testing.B) {
			c, store := newStore(b)
			for i := range nodes {
				has := amount{cpu: 3}
				if i < members*3/4+1 {
					has.cpu = 8
				}
				if i == members*3/4 {
					has.cpu = 7
				}
				set(b, c, has.node(fmt.Sprint("node-", i)))
			}
			demands := []Demand{{Pods: slices.Concat(
				podsAsking(amount{cpu: 4}, "small", members/2), podsAsking(amount{cpu: 8}, "large", members/2+extra),
			)}}
			demands[0].AtLeast = len(demands[0].Pods)
			var times []time.Duration
			for b.Loop() {
				plan := New(store, demands[0].Pods, 1)
				started := time.Now()
				if plan.PlaceTogether(demands, time.Time{}).Kept != (extra == 0) {
					b.Fatal("the wrong one is placed")
				}
				times = append(times, time.Since(started))
				plan.Close()
			}
			fmt.Printf("figure placement_%s_%d_ms_%d=%.1f\n", name, members, nodes, float64(median(times).Microseconds())/1e3)
		})
	}
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}
