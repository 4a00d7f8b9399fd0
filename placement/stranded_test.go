package placement

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/cluster"
)

func TestStranded(t *testing.T) {
	const nic = "example.com/nic"
	type amounts = map[corev1.ResourceName]string
	node := amounts{"cpu": "8", "memory": "8Gi", gpu: "8"}
	for _, test := range []struct {
		name              string
		node, placed, pod amounts
		want              float64
	}{
		{name: "nothing, by a pod that asks for nothing", node: node, pod: amounts{}},
		{name: "nothing, by a pod that asks for no extended resource", node: node, pod: amounts{"cpu": "8"}},
		{name: "nothing, by a pod that asks for none of one", node: node, pod: amounts{"cpu": "8", gpu: "0"}},
		{name: "nothing where all is taken in equal parts", node: node, pod: amounts{"cpu": "2", "memory": "2Gi", gpu: "2"}},
		{name: "nothing where CPU and memory are left beside it", node: node, pod: amounts{"cpu": "1", "memory": "1Gi", gpu: "4"}},
		{name: "nothing where nothing is left", node: node, pod: amounts{"cpu": "8", gpu: "8"}},
		// 6/8 of the GPUs are left, and 2/8 of the CPU.
		{name: "what is left beyond the CPU", node: node, pod: amounts{"cpu": "6", "memory": "1Gi", gpu: "2"}, want: 0.5},
		{name: "what is left beyond the memory", node: node, pod: amounts{"cpu": "1", "memory": "6Gi", gpu: "2"}, want: 0.5},
		{name: "what is left beyond the scarcer of both", node: node, pod: amounts{"cpu": "4", "memory": "6Gi", gpu: "2"}, want: 0.5},
		{name: "what other pods take counts", node: node, placed: amounts{"cpu": "5", gpu: "1"}, pod: amounts{"cpu": "1", gpu: "1"}, want: 0.5},
		{name: "shares count, not amounts", node: amounts{"cpu": "8", "memory": "8Gi", gpu: "80"}, pod: amounts{"cpu": "6", gpu: "20"}, want: 0.5},
		// 6/8 of the GPUs and 2/4 of the NICs are left, and 2/8 of the CPU.
		{name: "each resource that the pod asks for", node: amounts{"cpu": "8", "memory": "8Gi", gpu: "8", nic: "4"}, pod: amounts{"cpu": "6", gpu: "2", nic: "2"}, want: 0.75},
		{name: "none that it does not ask for", node: amounts{"cpu": "8", "memory": "8Gi", gpu: "8", nic: "4"}, pod: amounts{"cpu": "6", gpu: "2"}, want: 0.5},
		{name: "all of it on a node without CPU", node: amounts{"memory": "8Gi", gpu: "8"}, pod: amounts{gpu: "2"}, want: 0.75},
		{name: "all of it on a node that is overcommitted", node: node, placed: amounts{"cpu": "9"}, pod: amounts{gpu: "2"}, want: 0.75},
	} {
		t.Run(test.name, func(t *testing.T) {
			list := func(of amounts) corev1.ResourceList {
				list := corev1.ResourceList{}
				for name, amount := range of {
					list[name] = resource.MustParse(amount)
				}
				return list
			}
			c, _ := newStore(t)
			set(t, c, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}, Status: corev1.NodeStatus{Allocatable: list(test.node)}})
			pods := map[string]*cluster.Pod{}
			for name, requests := range map[string]amounts{"placed": test.placed, "pod": test.pod} {
				pods[name] = c.ResourceNames().NewPod(&corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{Name: name},
					Spec:       corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: list(requests)}}}},
				})
			}
			at := c.Snapshot().NodeByName("node").WithPod(pods["placed"])
			if got := Stranded(pods["pod"], at); got != test.want {
				t.Errorf("%v of a node are stranded, want %v", got, test.want)
			}
		})
	}
}

func TestOfEqualNodesAPodGetsTheOneWhereItStrandsTheLeast(t *testing.T) {
	c, store := newStore(t)
	object := func(name string, cpu, gpus int64) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			corev1.ResourceCPU:    *resource.NewQuantity(cpu, resource.DecimalSI),
			corev1.ResourceMemory: resource.MustParse("8Gi"),
			corev1.ResourcePods:   *resource.NewQuantity(110, resource.DecimalSI),
			gpu:                   *resource.NewQuantity(gpus, resource.DecimalSI),
		}}}
	}
	for i := range 8 {
		set(t, c, object(fmt.Sprint("lopsided-", i), 8, 8))
	}
	set(t, c, object("even", 8, 2))
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod", UID: "pod"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"),
		gpu:                resource.MustParse("1"),
	}}}}}}
	for seed := range uint64(20) {
		asks := c.ResourceNames().NewPod(pod)
		plan := New(store, []*cluster.Pod{asks}, seed)
		if got := plan.Node(plan.Place(asks)).Name; got != "even" {
			t.Errorf("seed %d: the pod is on %s, where more GPUs are stranded than on the even one", seed, got)
		}
		plan.Close()
	}
}
