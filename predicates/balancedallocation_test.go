package predicates

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/config"
)

func TestNodeResourcesBalancedAllocation(t *testing.T) {
	const gpu = "example.com/gpu"
	of := func(names ...string) *config.NodeResourcesBalancedAllocationArgs {
		args := &config.NodeResourcesBalancedAllocationArgs{}
		for _, name := range names {
			args.Resources = append(args.Resources, config.ResourceSpec{Name: name, Weight: 1})
		}
		return args
	}
	ten := node(offering("cpu", "10", "memory", "10Gi", "ephemeral-storage", "10Gi", gpu, "10"))
	asked := func(p *corev1.Pod, placed ...*corev1.Pod) scene { return scene{node: ten, pod: p, placed: placed} }
	tilted := pod(asking("cpu", "5", "memory", "1Gi"))
	// The rate is 50 + (50 + with - without)/2, where with and without are 100·(1 - deviation)
	// after and before the pod, rounded down. The deviation of two parts is half their distance.
	checkRates(t, config.NodeResourcesBalancedAllocation, []rateCase{
		{name: "a pod that asks for nothing finds all nodes alike", alike: true, scene: asked(pod())},
		{name: "so does one that asks for none of the resources", alike: true, args: of(gpu), scene: asked(pod(asking("cpu", "1")))},
		// Parts 0.2, 0.2 after, 0, 0 before: 100 and 100. 50 + 50/2 = 75.
		{name: "equal parts leave a balanced node at 75", scene: asked(pod(asking("cpu", "2", "memory", "2Gi"))), want: 75},
		// Parts 0.6, 0 after: deviation 0.3, 70. Before 100. 50 + (50-30)/2 = 60.
		{name: "a pod that tilts the node rates less", scene: asked(pod(asking("cpu", "6"))), want: 60},
		// Before 0.5, 0.1: deviation 0.2, 80. After 0.5, 0.5: 100. 50 + (50+20)/2 = 85.
		{name: "a pod that balances it rates more", scene: asked(pod(asking("memory", "4Gi")), tilted), want: 85},
		// Only CPU is offered: one part has no deviation.
		{name: "one resource is always in balance", scene: scene{node: node(offering("cpu", "10")), pod: pod(asking("cpu", "6"))}, want: 75},
		{name: "so is none", scene: scene{node: node(), pod: pod(asking("cpu", "6"))}, want: 75},
		// After 1 (15 of 10), 0.5: deviation 0.25, 75. Before 1 (12 of 10), 0.5: the same. 75.
		{name: "no part is more than all", want: 75, scene: asked(pod(asking("cpu", "3")), pod(asking("cpu", "12", "memory", "5Gi")))},
		// After 0.3, 0.6, 0: mean 0.3, squares 0 + 0.09 + 0.09, deviation √0.06 = 0.2449, 75. Before 100. 50 + (50-25)/2 = 62.
		{
			name:  "three resources deviate from their mean",
			args:  of("cpu", "memory", "ephemeral-storage"),
			want:  62,
			scene: asked(pod(asking("cpu", "3", "memory", "6Gi"))),
		},
		// GPU is asked for. After 0.6, 0.2, 0.4: mean 0.4, deviation √(0.08/3) = 0.1632, 83. Before 0.6, 0, 0: mean 0.2,
		// deviation √(0.24/3) = 0.2828, 71. 50 + (50+12)/2 = 81.
		{name: "an extended resource counts for a pod that asks for it", args: of("cpu", "memory", gpu), want: 81, scene: asked(
			pod(asking("memory", "2Gi", gpu, "4")), pod(asking("cpu", "6")),
		)},
		// Without GPU: after 0.6, 0.2: 80. Before 0.6, 0: 70. 50 + (50+10)/2 = 80.
		{name: "it does not count for a pod that does not", args: of("cpu", "memory", gpu), want: 80, scene: asked(
			pod(asking("memory", "2Gi")), pod(asking("cpu", "6", gpu, "9")),
		)},
		// No defaults here: after 0.1, 0: 95. Before 100. 50 + (50-5)/2 = 72.
		{name: "a container without requests counts for nothing", want: 72, scene: asked(pod(asking("cpu", "1")), pod())},
		// The pod as a whole asks for 0.4 of memory: after 0, 0.4: 80. Before 100. 50 + (50-20)/2 = 65.
		{name: "what a pod asks for as a whole counts", want: 65, scene: asked(pod(func(p *corev1.Pod) {
			p.Spec.Resources = &corev1.ResourceRequirements{Requests: amounts("memory", "4Gi")}
		}))},
	})
}
