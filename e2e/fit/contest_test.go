package fit_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/e2e/fit"
)

func TestRivalsGoWhereTheyTakeTheMostRoom(t *testing.T) {
	for name, test := range map[string]struct {
		nodes  []string // by their CPU
		bound  []string // pods on the first node
		rivals []string
		left   int // pods of one core
	}{
		"nobody else":                          {nodes: []string{"2", "3"}, left: 5},
		"one that is there already":            {nodes: []string{"2", "3"}, bound: []string{"1500m"}, left: 3},
		"one as large":                         {nodes: []string{"2", "3"}, rivals: []string{"1"}, left: 4},
		"a small one takes a whole place":      {nodes: []string{"2", "3"}, rivals: []string{"100m"}, left: 4},
		"a small one that finds a gap anyway":  {nodes: []string{"2500m"}, rivals: []string{"600m"}, left: 1},
		"one that fits in no room takes none":  {nodes: []string{"2", "3"}, rivals: []string{"4"}, left: 5},
		"two small ones go to different nodes": {nodes: []string{"2", "2"}, rivals: []string{"100m", "100m"}, left: 2},
		"the largest goes first":               {nodes: []string{"3"}, rivals: []string{"100m", "2900m"}, left: 0},
	} {
		t.Run(name, func(t *testing.T) {
			var nodes []*corev1.Node
			for i, cpu := range test.nodes {
				room := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourcePods: resource.MustParse("9")}
				nodes = append(nodes, &corev1.Node{
					ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i)}, Status: corev1.NodeStatus{Allocatable: room},
				})
			}
			asking := func(cpus ...string) (pods []*corev1.Pod) {
				for _, cpu := range cpus {
					pods = append(pods, &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{
						Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}},
					}}}})
				}
				return pods
			}
			bound := asking(test.bound...)
			for _, p := range bound {
				p.Spec.NodeName = "0"
			}
			if got := fit.Left(nodes, bound, asking(test.rivals...), asking("1")[0]); got != test.left {
				t.Errorf("%d are left, want %d", got, test.left)
			}
		})
	}
}
