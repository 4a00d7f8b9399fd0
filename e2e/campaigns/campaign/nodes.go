package campaign

import (
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var zones = []string{"zone-a", "zone-b", "zone-c"}

// drawNode makes a node that is ready, the number-th. On some there is room for few pods,
// so that they are full before their CPUs are.
func drawNode(r *rand.Rand, number int) *corev1.Node {
	cores := []int64{2, 4}[r.IntN(2)]
	pods := cores * 6
	if r.IntN(4) == 0 {
		pods = cores + 2
	}
	name := fmt.Sprintf("node-%03d", number)
	room := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(cores, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(cores<<32, resource.BinarySI), // 4 GiB a core
		corev1.ResourcePods:   *resource.NewQuantity(pods, resource.DecimalSI),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname: name, corev1.LabelTopologyZone: zones[number%len(zones)],
		}},
		Status: corev1.NodeStatus{
			Capacity: room, Allocatable: room,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Simulated"}},
		},
	}
}

// size is what pods ask for or nodes offer, in what runs out first.
type size struct{ milliCPU, pods int64 }

func offered(n *corev1.Node) size {
	return size{n.Status.Allocatable.Cpu().MilliValue(), n.Status.Allocatable.Pods().Value()}
}

func (s size) plus(o size) size  { return size{s.milliCPU + o.milliCPU, s.pods + o.pods} }
func (s size) minus(o size) size { return size{s.milliCPU - o.milliCPU, s.pods - o.pods} }

// of is the part of a room that it is, 1 for all of it.
func (s size) of(room size) float64 {
	return max(float64(s.milliCPU)/float64(room.milliCPU), float64(s.pods)/float64(room.pods))
}
