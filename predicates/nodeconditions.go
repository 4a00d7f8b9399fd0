package predicates

import (
	corev1 "k8s.io/api/core/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// nodeConditions keeps pods off nodes that are not ready, have no network or are short of
// memory, disk or process IDs, as the predicates CheckNodeCondition and
// CheckNode{Memory,PID,Disk}Pressure did (pkg/scheduler/algorithm/predicates of
// Kubernetes 1.12). A condition that a node does not report is not held against it.
//
// It does not run by default, since the node lifecycle controller has taken its place:
// that one puts a taint on a node for each of these conditions, and TaintToleration reads
// those. A pod that tolerates such a taint is let through here as well.
type nodeConditions struct{}

// badCondition is a state of a node in which it should not take more pods.
type badCondition struct {
	kind   corev1.NodeConditionType
	status corev1.ConditionStatus
	// taint is the key of the taint NoSchedule that stands for it
	// (nodeConditionToTaintKeyStatusMap in pkg/controller/nodelifecycle).
	taint   string
	verdict Verdict
}

// badConditions are in the order in which they are told. No pod that is evicted ends one
// of them at once: the kubelet or the cloud says when it is over. So all are hopeless, as
// they were then.
func badConditions() []badCondition {
	return []badCondition{
		{corev1.NodeReady, corev1.ConditionFalse, corev1.TaintNodeNotReady, nodeNotReady | hopeless},
		{corev1.NodeReady, corev1.ConditionUnknown, corev1.TaintNodeUnreachable, nodeNotReady | hopeless},
		{corev1.NodeNetworkUnavailable, corev1.ConditionTrue, corev1.TaintNodeNetworkUnavailable, networkUnavailable | hopeless},
		{corev1.NodeMemoryPressure, corev1.ConditionTrue, corev1.TaintNodeMemoryPressure, memoryPressure | hopeless},
		{corev1.NodePIDPressure, corev1.ConditionTrue, corev1.TaintNodePIDPressure, pidPressure | hopeless},
		{corev1.NodeDiskPressure, corev1.ConditionTrue, corev1.TaintNodeDiskPressure, diskPressure | hopeless},
	}
}

func newNodeConditions(*config.Profile) (Predicate, error) { return nodeConditions{}, nil }

func (nodeConditions) Name() string { return config.NodeConditions }

func (nodeConditions) Aspects() cluster.Aspect { return cluster.AspectConditions }

func (nodeConditions) For(pod *cluster.Pod, _ *cluster.Snapshot) Check {
	var against []badCondition
	for _, bad := range badConditions() {
		taint := corev1.Taint{Key: bad.taint, Effect: corev1.TaintEffectNoSchedule}
		tolerated := corev1helpers.TolerationsTolerateTaint(klog.Background(), pod.Spec.Tolerations, &taint, comparisonOperators)
		if tolerated || bad.kind == corev1.NodeMemoryPressure && !bestEffort(pod) {
			continue
		}
		against = append(against, bad)
	}
	if len(against) == 0 {
		return nil
	}
	return conditionsCheck(against)
}

// conditionsCheck are the conditions in which a node does not take a pod.
type conditionsCheck []badCondition

func (c conditionsCheck) Verdict(node *cluster.Node) Verdict {
	for i := range c {
		if c[i].isOf(node) {
			return c[i].verdict
		}
	}
	return Fits
}

// Verdicts implements [Plural].
func (c conditionsCheck) Verdicts(node *cluster.Node, visit func(Verdict)) {
	for i := range c {
		if c[i].isOf(node) {
			visit(c[i].verdict)
		}
	}
}

func (b *badCondition) isOf(node *cluster.Node) bool {
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Status == b.status && c.Type == b.kind {
			return true
		}
	}
	return false
}

// bestEffort reports whether a pod is of that class of service: it asks for no CPU and no memory, and sets no
// limit to them (ComputePodQOS in pkg/apis/core/v1/helper/qos). Requests of the pod as a whole go before its
// containers'.
func bestEffort(pod *cluster.Pod) bool {
	if pod.Spec.Resources != nil {
		return asksForNothing(pod.Spec.Resources)
	}
	for i := range pod.Spec.Containers {
		if !asksForNothing(&pod.Spec.Containers[i].Resources) {
			return false
		}
	}
	for i := range pod.Spec.InitContainers {
		if !asksForNothing(&pod.Spec.InitContainers[i].Resources) {
			return false
		}
	}
	return true
}

func asksForNothing(r *corev1.ResourceRequirements) bool {
	return r.Requests.Cpu().Sign() <= 0 && r.Requests.Memory().Sign() <= 0 && r.Limits.Cpu().Sign() <= 0 && r.Limits.Memory().Sign() <= 0
}
