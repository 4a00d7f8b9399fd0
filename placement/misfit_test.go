package placement

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/cluster"
)

func TestMisfit(t *testing.T) {
	const nic = "example.com/nic"
	type amounts = map[corev1.ResourceName]string
	node := amounts{"cpu": "8", "memory": "8Gi", gpu: "8"}
	both := amounts{"cpu": "8", "memory": "8Gi", gpu: "8", nic: "4"}
	for _, test := range []struct {
		name              string
		node, placed, pod amounts
		want              float64
	}{
		{name: "none of a pod that asks for nothing", node: node, pod: amounts{}},
		{name: "none of a pod that asks for no extended resource", node: node, pod: amounts{"cpu": "8"}},
		{name: "none of a pod that asks for none of one", node: node, pod: amounts{"cpu": "8", gpu: "0"}},
		{name: "none where nothing is left", node: node, pod: amounts{"cpu": "8", "memory": "8Gi", gpu: "8"}},
		{name: "less the more CPU and memory are left", node: node, pod: amounts{"cpu": "2", "memory": "4Gi", gpu: "6"}, want: -0.625},
		{name: "less on an empty node", node: node, pod: amounts{gpu: "1"}, want: -1},
		// 6/8 of the GPUs are left, 2/8 of the CPU, and of both CPU and memory 5/8 on average.
		{name: "more by what is left beyond the CPU", node: node, pod: amounts{"cpu": "6", gpu: "2"}, want: 0.5 - 0.625},
		{name: "more by what is left beyond the memory", node: node, pod: amounts{"memory": "6Gi", gpu: "2"}, want: 0.5 - 0.625},
		{
			name: "more by what is left beyond the scarcer of both", node: node, pod: amounts{"cpu": "4", "memory": "6Gi", gpu: "2"},
			want: 0.5 - 0.375,
		},
		{
			name: "what other pods take counts", node: node, placed: amounts{"cpu": "5", gpu: "1"}, pod: amounts{"cpu": "1", gpu: "1"},
			want: 0.5 - 0.625,
		},
		{
			name: "shares count, not amounts", node: amounts{"cpu": "8", "memory": "80Gi", gpu: "800"},
			pod: amounts{"cpu": "6", gpu: "200"}, want: 0.5 - 0.625,
		},
		// Of the NICs 2/4 are left.
		{name: "each resource counts that the pod asks for", node: both, pod: amounts{"cpu": "6", gpu: "2", nic: "2"}, want: 0.5 + 0.25 - 0.625},
		{name: "no other one does", node: both, pod: amounts{"cpu": "6", gpu: "2"}, want: 0.5 - 0.625},
		{name: "all is stranded on a node without CPU", node: amounts{"memory": "8Gi", gpu: "8"}, pod: amounts{gpu: "2"}, want: 0.75 - 0.5},
		{name: "so it is on a node that is overcommitted", node: node, placed: amounts{"cpu": "9"}, pod: amounts{gpu: "2"}, want: 0.75 - 0.5},
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
				pods[name] = cluster.NewPod(&corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{Name: name},
					Spec:       corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: list(requests)}}}},
				})
			}
			at := c.Snapshot().NodeByName("node").WithPod(pods["placed"])
			if got := Misfit(pods["pod"], at); got != test.want {
				t.Errorf("the misfit is %v, want %v", got, test.want)
			}
		})
	}
}

func TestOfEqualNodesAPodGetsTheOneOfTheLeastMisfit(t *testing.T) {
	c, store := newStore(t)
	object := func(name string, gpus int64) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse("8"),
			corev1.ResourceMemory: resource.MustParse("8Gi"),
			corev1.ResourcePods:   *resource.NewQuantity(110, resource.DecimalSI),
			gpu:                   *resource.NewQuantity(gpus, resource.DecimalSI),
		}}}
	}
	for i := range 8 {
		set(t, c, object(fmt.Sprint("lopsided-", i), 8))
	}
	set(t, c, object("even", 2))
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "pod", UID: "pod"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("4"),
			gpu:                resource.MustParse("1"),
		}}}}},
	}
	for seed := range uint64(20) {
		asks := cluster.NewPod(pod)
		plan := New(store, []*cluster.Pod{asks}, seed)
		if got := plan.Node(plan.Place(asks)).Name; got != "even" {
			t.Errorf("seed %d: the pod is on %s, where more GPUs are stranded than on the even one", seed, got)
		}
		plan.Close()
	}
}
