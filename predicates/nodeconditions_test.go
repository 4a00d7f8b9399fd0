package predicates

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/config"
)

func TestNodeConditions(t *testing.T) {
	const (
		notReady  = "node(s) were not ready"
		noNetwork = "node(s) had unavailable network"
		memory    = "node(s) had memory pressure"
		disk      = "node(s) had disk pressure"
		pids      = "node(s) had pid pressure"
	)
	const yes, no, unknown = corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown
	is := func(kind corev1.NodeConditionType, status corev1.ConditionStatus) func(*corev1.Node) {
		return func(n *corev1.Node) {
			n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: kind, Status: status})
		}
	}
	ready, unready := is(corev1.NodeReady, yes), is(corev1.NodeReady, no)
	lowMemory, lowDisk := is(corev1.NodeMemoryPressure, yes), is(corev1.NodeDiskPressure, yes)
	on := func(n *corev1.Node, change ...func(*corev1.Pod)) scene { return scene{node: n, pod: pod(change...)} }
	tolerates := func(taint string, effect corev1.TaintEffect) func(*corev1.Pod) {
		return tolerating(corev1.Toleration{Key: taint, Operator: corev1.TolerationOpExists, Effect: effect})
	}
	const noSchedule, noExecute = corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute
	limited := func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Limits = amounts("memory", "1Gi") }
	sidecar := func(p *corev1.Pod) {
		p.Spec.InitContainers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: amounts("cpu", "1m")}}}
	}
	whole := func(namesAndQuantities ...string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Resources = &corev1.ResourceRequirements{Requests: amounts(namesAndQuantities...)}
		}
	}
	checkVerdicts(t, config.NodeConditions, []verdictCase{
		{name: "a node that is ready takes every pod", scene: on(node(ready))},
		{name: "so does one that reports nothing", scene: on(node())},
		{
			name: "and one that is short of nothing",
			scene: on(
				node(
					ready, is(corev1.NodeMemoryPressure, no), is(corev1.NodeDiskPressure, no), is(corev1.NodePIDPressure, no),
					is(corev1.NodeNetworkUnavailable, no),
				),
			),
		},
		{name: "one that is not ready keeps pods off, and eviction does not help", scene: on(node(unready)), reason: notReady},
		{name: "one that is not heard of is not ready", scene: on(node(is(corev1.NodeReady, unknown))), reason: notReady},
		{name: "one without network keeps pods off", scene: on(node(ready, is(corev1.NodeNetworkUnavailable, yes))), reason: noNetwork},
		{name: "a network that is not known of does not", scene: on(node(ready, is(corev1.NodeNetworkUnavailable, unknown)))},
		{name: "disk pressure keeps pods off", scene: on(node(ready, lowDisk), asking("cpu", "1")), reason: disk},
		{name: "PID pressure keeps pods off", scene: on(node(ready, is(corev1.NodePIDPressure, yes)), asking("cpu", "1")), reason: pids},
		{name: "conditions of other kinds do not matter", scene: on(node(ready, is("ExamplePressure", yes)))},
		{name: "not to be ready comes first", scene: on(node(lowDisk, unready)), reason: notReady},
		{name: "the cordon of a node is not looked at", scene: on(node(ready, cordoned))},

		{name: "memory pressure keeps a best-effort pod off", scene: on(node(ready, lowMemory)), reason: memory},
		{name: "it lets a pod through that asks for memory", scene: on(node(ready, lowMemory), asking("memory", "1Gi"))},
		{name: "and one that asks for CPU", scene: on(node(ready, lowMemory), asking("cpu", "1"))},
		{name: "and one that has only a limit", scene: on(node(ready, lowMemory), limited)},
		{name: "and one whose init container asks", scene: on(node(ready, lowMemory), sidecar)},
		{name: "and one that asks as a whole", scene: on(node(ready, lowMemory), whole("memory", "1Gi"))},
		{name: "a pod that asks for 0 is best-effort", scene: on(node(ready, lowMemory), asking("cpu", "0")), reason: memory},
		{
			name:   "so is one that asks for other resources alone",
			scene:  on(node(ready, lowMemory), asking("example.com/gpu", "1")),
			reason: memory,
		},
		{
			name:   "and one that says as a whole that it asks for nothing",
			scene:  on(node(ready, lowMemory), asking("cpu", "1"), whole()),
			reason: memory,
		},

		{
			name:  "a pod that tolerates the taint of a condition is let through",
			scene: on(node(ready, lowDisk), tolerates(corev1.TaintNodeDiskPressure, noSchedule)),
		},
		{
			name:   "for another condition it is not",
			scene:  on(node(ready, lowDisk), tolerates(corev1.TaintNodePIDPressure, noSchedule)),
			reason: disk,
		},
		{
			name:   "one that tolerates being left on the node is not let onto it",
			scene:  on(node(unready), tolerates(corev1.TaintNodeNotReady, noExecute)),
			reason: notReady,
		},
		{
			name:   "not ready and unreachable are told apart",
			scene:  on(node(is(corev1.NodeReady, unknown)), tolerates(corev1.TaintNodeNotReady, noSchedule)),
			reason: notReady,
		},
		{
			name:  "to tolerate unreachable nodes is enough for one that is not heard of",
			scene: on(node(is(corev1.NodeReady, unknown)), tolerates(corev1.TaintNodeUnreachable, noSchedule)),
		},
		{
			name:       "a pod that tolerates everything is not concerned",
			scene:      on(node(unready), tolerating(corev1.Toleration{Operator: corev1.TolerationOpExists})),
			everywhere: true,
		},
	})
}
