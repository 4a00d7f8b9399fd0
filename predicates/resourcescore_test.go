package predicates

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/config"
)

func TestNodeResourcesFitScore(t *testing.T) {
	const gpu = "example.com/gpu"
	strategy := func(kind config.ScoringStrategyType, resources ...config.ResourceSpec) *config.NodeResourcesFitArgs {
		if resources == nil {
			resources = []config.ResourceSpec{{Name: "cpu", Weight: 1}, {Name: "memory", Weight: 1}}
		}
		return &config.NodeResourcesFitArgs{ScoringStrategy: config.ScoringStrategy{Type: kind, Resources: resources}}
	}
	least, most := strategy(config.LeastAllocated), strategy(config.MostAllocated)
	shaped := func(points ...int32) *config.NodeResourcesFitArgs {
		args := strategy(config.RequestedToCapacityRatio)
		args.ScoringStrategy.RequestedToCapacityRatio = &config.RequestedToCapacityRatioParam{}
		ratio := args.ScoringStrategy.RequestedToCapacityRatio
		for i := 0; i < len(points); i += 2 {
			ratio.Shape = append(ratio.Shape, config.UtilizationShapePoint{Utilization: points[i], Score: points[i+1]})
		}
		return args
	}
	ten := node(offering("cpu", "10", "memory", "10Gi", "ephemeral-storage", "10Gi", gpu, "8", "pods", "110"))
	asked := func(p *corev1.Pod, placed ...*corev1.Pod) scene { return scene{node: ten, pod: p, placed: placed} }
	beside := pod(asking("cpu", "3", "memory", "1Gi"))
	checkRates(t, config.NodeResourcesFit, []rateCase{
		// CPU: (10-1)·100/10 = 90. Memory: (10-2)·100/10 = 80. (90+80)/2 = 85.
		{name: "LeastAllocated is the default and rates what is left", scene: asked(pod(asking("cpu", "1", "memory", "2Gi"))), want: 85},
		// CPU: (10-3-1)·10 = 60. Memory: (10-1-2)·10 = 70. 130/2 = 65.
		{
			name:  "LeastAllocated counts the pods on the node",
			args:  least,
			scene: asked(pod(asking("cpu", "1", "memory", "2Gi")), beside),
			want:  65,
		},
		// CPU: (3+1)·10 = 40. Memory: (1+2)·10 = 30. 70/2 = 35.
		{name: "MostAllocated rates what is requested", args: most, scene: asked(pod(asking("cpu", "1", "memory", "2Gi")), beside), want: 35},
		// CPU: 0.1 of 10: 9900·100/10000 = 99. Memory: 10,527,703,040·100/10,737,418,240 = 98. 197/2 = 98.
		{name: "a container without requests counts 100m and 200 MiB", args: least, scene: asked(pod()), want: 98},
		// The same twice: CPU 98, memory (10240-400)·100/10240 = 96. 194/2 = 97.
		{name: "so does one on the node", args: least, scene: asked(pod(), pod()), want: 97},
		// CPU: 99. Memory: (8-2)·100/8 = 75, though a hundred times 6E is no number of 64 bits. 174/2 = 87.
		{
			name: "amounts without a hundredfold", args: least,
			scene: scene{
				node: node(offering("cpu", "10", "memory", "8E", "pods", "110")), pod: pod(asking("cpu", "100m", "memory", "2E")),
			},
			want: 87,
		},
		// Explicit zeros are requests: CPU 100, memory 100.
		{name: "a request of zero is a request", args: least, scene: asked(pod(asking("cpu", "0", "memory", "0"))), want: 100},
		// CPU: 11 of 10 rates 0. Memory: 90. 90/2 = 45.
		{
			name:  "LeastAllocated rates an over-committed resource 0",
			args:  least,
			scene: asked(pod(asking("cpu", "11", "memory", "1Gi"))),
			want:  45,
		},
		// CPU: 11 of 10 counts as 10: 100. Memory: 10. 110/2 = 55.
		{name: "MostAllocated rates it 100", args: most, scene: asked(pod(asking("cpu", "11", "memory", "1Gi"))), want: 55},
		// Only CPU: (4-1)·100/4 = 75.
		{
			name: "what the node does not offer does not count", args: least,
			scene: scene{node: node(offering("cpu", "4")), pod: pod(asking("cpu", "1", "memory", "1Gi"))}, want: 75,
		},
		{name: "a node that offers nothing rates 0", args: least, scene: scene{node: node()}, want: 0},
		// CPU: 10, weight 3. Memory: 40, weight 1. (30+40)/4 = 17.
		{
			name:  "weights weigh",
			args:  strategy(config.MostAllocated, config.ResourceSpec{Name: "cpu", Weight: 3}, config.ResourceSpec{Name: "memory", Weight: 1}),
			scene: asked(pod(asking("cpu", "1", "memory", "4Gi"))),
			want:  17,
		},
		// CPU: 10 %, between 0 and 50: 0 + 100·10/50 = 20. Memory: 60 %, between 50 and 100: 100 - 100·10/50 = 80. 100/2 = 50.
		{
			name:  "a shape is linear between its points",
			args:  shaped(0, 0, 50, 10, 100, 0),
			scene: asked(pod(asking("cpu", "1", "memory", "6Gi"))),
			want:  50,
		},
		// CPU: 10 %, below 30: 20. Memory: 90 %, above 80: 70. 90/2 = 45.
		{name: "and constant beyond them", args: shaped(30, 2, 80, 7), scene: asked(pod(asking("cpu", "1", "memory", "9Gi"))), want: 45},
		// CPU: 11 of 10 is 100 %: 100. Memory: 10 %: 10. 110/2 = 55.
		{name: "what is over-committed is full", args: shaped(0, 0, 100, 10), scene: asked(pod(asking("cpu", "11", "memory", "1Gi"))), want: 55},
		// CPU: 10 %: 10. Memory: 0 %: 0, which does not count. 10/1 = 10.
		{
			name:  "a resource that rates 0 by a shape does not count",
			args:  shaped(0, 0, 100, 10),
			scene: asked(pod(asking("cpu", "1", "memory", "0"))),
			want:  10,
		},
		{name: "by a shape a node that rates 0 throughout does", args: shaped(100, 0), scene: asked(pod(asking("cpu", "1"))), want: 0},
		// CPU: 10 %: 10. Memory: 15 %: 15. 25/2 = 12.5, rounded to 13.
		{name: "a mean by a shape is rounded", args: shaped(0, 0, 100, 10), scene: asked(pod(asking("cpu", "1", "memory", "1536Mi"))), want: 13},
		// GPU: (2+4)·100/8 = 75, weight 5. CPU: 10, weight 1. (375+10)/6 = 64.
		{
			name: "an extended resource counts for a pod that asks for it", want: 64,
			args:  strategy(config.MostAllocated, config.ResourceSpec{Name: gpu, Weight: 5}, config.ResourceSpec{Name: "cpu", Weight: 1}),
			scene: asked(pod(asking("cpu", "1", gpu, "4")), pod(asking("cpu", "0", gpu, "2"))),
		},
		// Only CPU: 10.
		{
			name: "it does not count for a pod that does not", want: 10,
			args:  strategy(config.MostAllocated, config.ResourceSpec{Name: gpu, Weight: 5}, config.ResourceSpec{Name: "cpu", Weight: 1}),
			scene: asked(pod(asking("cpu", "1")), pod(asking("cpu", "0", gpu, "2"))),
		},
		{
			name: "a resource that nobody has does not count", want: 0,
			args:  strategy(config.MostAllocated, config.ResourceSpec{Name: "example.com/none", Weight: 1}),
			scene: asked(pod(asking("cpu", "1"))),
		},
		// (10-4)·100/10 = 60, and 0 asked counts as 0: no default for storage.
		{
			name: "ephemeral storage has no default", want: 60,
			args:  strategy(config.LeastAllocated, config.ResourceSpec{Name: "ephemeral-storage", Weight: 1}),
			scene: asked(pod(), pod(asking("ephemeral-storage", "4Gi"))),
		},
		// The containers ask for 1 CPU and, by default, 200 MiB: CPU 10, memory 200·100/10240 = 1. 11/2 = 5.
		{
			name: "what a pending pod asks for as a whole does not count",
			args: most,
			want: 5,
			scene: asked(pod(asking("cpu", "1"), func(p *corev1.Pod) {
				p.Spec.Resources = &corev1.ResourceRequirements{Requests: amounts("cpu", "5", "memory", "5Gi")}
			})),
		},
		// On the node it does: CPU (5+1)·10 = 60, memory (5+1)·10 = 60.
		{
			name: "on the node it does",
			args: most,
			want: 60,
			scene: asked(pod(asking("cpu", "1", "memory", "1Gi")), pod(asking("cpu", "1"), func(p *corev1.Pod) {
				p.Spec.Resources = &corev1.ResourceRequirements{Requests: amounts("cpu", "5", "memory", "5Gi")}
			})),
		},
	})
}
