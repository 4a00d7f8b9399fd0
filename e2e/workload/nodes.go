package workload

import (
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Names that generated nodes and pods share.
const (
	PoolLabel   = "example.com/pool"
	GPUResource = corev1.ResourceName("example.com/gpu")
	GPUTaint    = "example.com/gpu"
)

// Pools of generated nodes.
const (
	PoolGeneral = "general"
	PoolMemory  = "memory"
	PoolGPU     = "gpu"
)

// machine is a kind of node. Shares are parts of a hundred.
type machine struct {
	instance  string
	pool      string
	share     int
	cores     int64
	memoryGiB int64
	gpus      int64
}

var machines = []machine{
	{instance: "general-16", pool: PoolGeneral, share: 30, cores: 16, memoryGiB: 64},
	{instance: "general-32", pool: PoolGeneral, share: 35, cores: 32, memoryGiB: 128},
	{instance: "general-64", pool: PoolGeneral, share: 20, cores: 64, memoryGiB: 256},
	{instance: "memory-32", pool: PoolMemory, share: 10, cores: 32, memoryGiB: 256},
	{instance: "gpu-96", pool: PoolGPU, share: 5, cores: 96, memoryGiB: 768, gpus: 8},
}

// zones by share of the nodes, parts of a hundred.
var zones = []struct {
	name  string
	share int
}{{"zone-a", 40}, {"zone-b", 35}, {"zone-c", 25}}

const (
	podsPerNode = 110
	// What a kubelet keeps for itself and the system.
	reservedCores     = 1
	reservedMemoryGiB = 4
)

// drawNodes deals the shares out exactly and shuffles them, so that a small cluster has
// every kind of node as well.
func drawNodes(r *rand.Rand, n int) []*corev1.Node {
	nodes := make([]*corev1.Node, n)
	machineOf, zoneOf := deal(r, n, len(machines), func(i int) int { return machines[i].share }),
		deal(r, n, len(zones), func(i int) int { return zones[i].share })
	for i := range nodes {
		nodes[i] = machines[machineOf[i]].node(fmt.Sprintf("node-%05d", i), zones[zoneOf[i]].name)
	}
	return nodes
}

// deal returns n indexes of kinds in proportion to their shares, in random order.
func deal(r *rand.Rand, n, kinds int, share func(int) int) []int {
	var hand []int
	dealt := 0
	for i := range kinds {
		dealt += share(i)
		for len(hand) < n*dealt/100 {
			hand = append(hand, i)
		}
	}
	r.Shuffle(len(hand), func(i, j int) { hand[i], hand[j] = hand[j], hand[i] })
	return hand
}

func (m machine) node(name, zone string) *corev1.Node {
	capacity := m.resources(m.cores, m.memoryGiB)
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname:           name,
			corev1.LabelTopologyZone:       zone,
			corev1.LabelInstanceTypeStable: m.instance,
			corev1.LabelArchStable:         "amd64",
			corev1.LabelOSStable:           "linux",
			PoolLabel:                      m.pool,
		}},
		Status: corev1.NodeStatus{
			Capacity:    capacity,
			Allocatable: m.resources(m.cores-reservedCores, m.memoryGiB-reservedMemoryGiB),
		},
	}
	if m.gpus > 0 {
		n.Spec.Taints = []corev1.Taint{{Key: GPUTaint, Effect: corev1.TaintEffectNoSchedule}}
	}
	return n
}

func (m machine) resources(cores, memoryGiB int64) corev1.ResourceList {
	list := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(cores, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(memoryGiB<<30, resource.BinarySI),
		corev1.ResourcePods:   *resource.NewQuantity(podsPerNode, resource.DecimalSI),
	}
	if m.gpus > 0 {
		list[GPUResource] = *resource.NewQuantity(m.gpus, resource.DecimalSI)
	}
	return list
}
