package predicates

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/config"
)

func TestNodeResourcesFit(t *testing.T) {
	const gpu, nic, hugePages, card = "example.com/gpu", "example.com/nic", "hugepages-2Mi", "vendor.kubernetes.io/card"
	four := node(offering("cpu", "4", "memory", "8Gi", "ephemeral-storage", "10Gi", "pods", "3", gpu, "2", hugePages, "64Mi"))
	large := node(offering("cpu", "4", "memory", "9E", "pods", "110", gpu, "9007199254740992"))
	// asked is a pod that asks for this on a node where others have asked for that.
	asked := func(p *corev1.Pod, placed ...*corev1.Pod) scene { return scene{node: four, pod: p, placed: placed} }
	three := pod(asking("cpu", "3", "memory", "6Gi", "ephemeral-storage", "9Gi", gpu, "1", hugePages, "32Mi"))
	ignoring := func(resources, groups []string) *config.NodeResourcesFitArgs {
		return &config.NodeResourcesFitArgs{IgnoredResources: resources, IgnoredResourceGroups: groups}
	}
	withInit := func(policy *corev1.ContainerRestartPolicy, namesAndQuantities ...string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{
				Name: "init", RestartPolicy: policy, Resources: corev1.ResourceRequirements{Requests: amounts(namesAndQuantities...)},
			}}
		}
	}
	always := corev1.ContainerRestartPolicyAlways
	checkVerdicts(t, config.NodeResourcesFit, []verdictCase{
		{name: "a pod that asks for nothing fits", scene: asked(pod())},
		{
			name:  "all of a node fits",
			scene: asked(pod(asking("cpu", "4", "memory", "8Gi", "ephemeral-storage", "10Gi", gpu, "2", hugePages, "64Mi"))),
		},
		{
			name:  "all that is left fits",
			scene: asked(pod(asking("cpu", "1", "memory", "2Gi", "ephemeral-storage", "1Gi", gpu, "1", hugePages, "32Mi")), three),
		},
		{
			name:       "a thousandth of a CPU too much, which eviction would free",
			scene:      asked(pod(asking("cpu", "1001m")), three),
			reason:     "Insufficient cpu",
			resolvable: true,
		},
		{name: "more CPU than the node has", scene: asked(pod(asking("cpu", "4001m"))), reason: "Insufficient cpu"},
		{
			name:       "a byte of memory too much",
			scene:      asked(pod(asking("memory", "2147483649")), three),
			reason:     "Insufficient memory",
			resolvable: true,
		},
		{name: "more memory than the node has", scene: asked(pod(asking("memory", "9Gi"))), reason: "Insufficient memory"},
		{
			name:       "too much ephemeral storage",
			scene:      asked(pod(asking("ephemeral-storage", "2Gi")), three),
			reason:     "Insufficient ephemeral-storage",
			resolvable: true,
		},
		{
			name:   "more ephemeral storage than the node has",
			scene:  asked(pod(asking("ephemeral-storage", "11Gi"))),
			reason: "Insufficient ephemeral-storage",
		},
		{name: "too many of an extended resource", scene: asked(pod(asking(gpu, "2")), three), reason: "Insufficient " + gpu, resolvable: true},
		{name: "an extended resource that the node does not have", scene: asked(pod(asking(nic, "1"))), reason: "Insufficient " + nic},
		{name: "none of an extended resource that the node does not have", scene: asked(pod(asking(nic, "0")))},
		{name: "too many huge pages", scene: asked(pod(asking(hugePages, "64Mi")), three), reason: "Insufficient " + hugePages, resolvable: true},

		{
			name:   "the first reason counts, and is final when any is",
			scene:  asked(pod(asking("cpu", "2", "memory", "9Gi")), three),
			reason: "Insufficient cpu",
		},
		{name: "as many pods as the node may run", scene: asked(pod(), pod(), pod(), pod()), reason: "Too many pods", resolvable: true},
		{name: "too many pods and more than the node has", scene: asked(pod(asking("cpu", "5")), pod(), pod(), pod()), reason: "Too many pods"},
		{
			name:       "a node that says nothing of pods takes none",
			scene:      scene{node: node(offering("cpu", "4"))},
			reason:     "Too many pods",
			resolvable: true,
		},
		{
			name:   "a node that says nothing of memory has none",
			scene:  scene{node: node(offering("pods", "1")), pod: pod(asking("memory", "1"))},
			reason: "Insufficient memory",
		},
		{
			name:  "an over-committed node takes pods that ask for nothing",
			scene: scene{node: node(offering("cpu", "1", "pods", "9")), placed: []*corev1.Pod{pod(asking("cpu", "2"))}},
		},
		{
			name: "an over-committed node takes no others",
			scene: scene{
				node:   node(offering("cpu", "1", "pods", "9")),
				placed: []*corev1.Pod{pod(asking("cpu", "2"))},
				pod:    pod(asking("cpu", "1m")),
			},
			reason:     "Insufficient cpu",
			resolvable: true,
		},

		{name: "containers add up", reason: "Insufficient cpu", scene: asked(pod(asking("cpu", "3"), func(p *corev1.Pod) {
			p.Spec.Containers = append(
				p.Spec.Containers, corev1.Container{Name: "second", Resources: corev1.ResourceRequirements{Requests: amounts("cpu", "1001m")}},
			)
		}))},
		{name: "an init container runs before the others", scene: asked(pod(asking("cpu", "4"), withInit(nil, "cpu", "4")))},
		{name: "a sidecar runs beside them", scene: asked(pod(asking("cpu", "4"), withInit(&always, "cpu", "1m"))), reason: "Insufficient cpu"},
		{name: "the overhead adds up", reason: "Insufficient memory", scene: asked(pod(asking("memory", "8Gi"), func(p *corev1.Pod) {
			p.Spec.Overhead = amounts("memory", "1Mi")
		}))},
		{name: "what the pod asks for as a whole stands for its containers", scene: asked(pod(asking("cpu", "9"), func(p *corev1.Pod) {
			p.Spec.Resources = &corev1.ResourceRequirements{Requests: amounts("cpu", "4")}
		}))},
		{
			name:       "a pod that grows counts with what it grows to",
			reason:     "Insufficient cpu",
			resolvable: true,
			scene: asked(pod(asking("cpu", "3")), pod(asking("cpu", "1"), func(p *corev1.Pod) {
				p.Status.ContainerStatuses = []corev1.ContainerStatus{{
					Name: "main", AllocatedResources: amounts("cpu", "2"), Resources: &corev1.ResourceRequirements{Requests: amounts("cpu", "1")},
				}}
			})),
		},

		{name: "an ignored resource does not count", args: ignoring([]string{nic}, nil), scene: asked(pod(asking(nic, "1")))},
		{
			name:  "a resource of an ignored group does not count",
			args:  ignoring(nil, []string{"example.com"}),
			scene: asked(pod(asking(nic, "1", gpu, "9"))),
		},
		{
			name:   "another group counts",
			args:   ignoring(nil, []string{"example.org"}),
			scene:  asked(pod(asking(nic, "1"))),
			reason: "Insufficient " + nic,
		},
		{
			name:   "one more than a float holds",
			scene:  scene{node: large, pod: pod(asking(gpu, "9007199254740993"))},
			reason: "Insufficient " + gpu,
		},
		{
			name:   "amounts whose sum 64 bits do not hold",
			scene:  scene{node: large, pod: pod(asking("memory", "8E")), placed: []*corev1.Pod{pod(asking("memory", "8E"))}},
			reason: "Insufficient memory", resolvable: true,
		},
		{name: "CPU cannot be ignored", args: ignoring([]string{"cpu"}, nil), scene: asked(pod(asking("cpu", "5"))), reason: "Insufficient cpu"},
		{
			name:   "huge pages cannot be ignored",
			args:   ignoring([]string{hugePages}, nil),
			scene:  asked(pod(asking(hugePages, "1Gi"))),
			reason: "Insufficient " + hugePages,
		},
		{
			name: "Kubernetes' own domain cannot be ignored", args: ignoring([]string{card}, []string{"vendor.kubernetes.io"}),
			scene: asked(pod(asking(card, "1"))), reason: "Insufficient " + card,
		},
	})
}
